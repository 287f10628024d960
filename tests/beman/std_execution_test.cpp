// SPDX-License-Identifier: BSL-1.0
//
// Senders of beck under std::execution, for which beman's implementation stands in. Built by clang
// if -DBECK_BEMAN_DIR=... names a source tree of beman's execution, which no package has.
#include <execution>

#include <array>
#include <beck/beck.hpp>
#include <beck/interop/execution.hpp>
#include <cstddef>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "support/context_options.hpp"
#include "support/stream_pair.hpp"

namespace ex = std::execution;
namespace be = beck::execution;
using beck::test::stream_pair;

static_assert(std::is_same_v<be::set_value_t, ex::set_value_t>);
static_assert(ex::scheduler<be::scheduler>);
static_assert(ex::sender<be::detail::schedule_sender>);

namespace {

/// A context that a thread of its own runs, so that sync_wait of the library may block.
struct running_context {
  running_context() : context(context_options()), work(beck::make_work_guard(context)) {
    runner = std::thread([this] { context.run(); });
  }
  ~running_context() {
    work.reset();
    runner.join();
  }
  beck::io_context context;
  beck::executor_work_guard<beck::io_context::executor_type> work;
  std::thread runner;
};

/// Sends bytes and receives them. Returns whether all of it ran on the context.
ex::task<bool> exchange(beck::io_context& context, stream_pair& pair) {
  std::array<char, 4> space{};
  const auto is_here = [&] { return context.get_executor().running_in_this_thread(); };
  bool stayed = is_here();
  const std::size_t sent =
      co_await be::as_sender(beck::async_write(pair.b, beck::buffer("abc", 3)));
  stayed = stayed && is_here();
  const std::size_t got = co_await be::as_sender(pair.a.async_read_some(beck::buffer(space)));
  co_return stayed&& is_here() && sent == 3 && got == 3;
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel, "std::execution: schedule, then, when_all and sync_wait") {
  running_context at;
  stream_pair pair(at.context);
  std::array<char, 16> space{};
  auto thread_of = ex::schedule(be::scheduler_of(at.context)) |
                   ex::then([] { return std::this_thread::get_id(); });
  auto [thread] = ex::sync_wait(std::move(thread_of)).value();
  CHECK(thread == at.runner.get_id());
  auto both = ex::when_all(be::as_sender(pair.a.async_read_some(beck::buffer(space))),
                           be::as_sender(beck::async_write(pair.b, beck::buffer("abc", 3)))) |
              ex::then([](std::size_t got, std::size_t sent) { return got + sent; });
  auto [bytes] = ex::sync_wait(std::move(both)).value();
  CHECK(bytes == 6);
}

CONFORMANCE_ON(beck::test::kernel,
               "std::execution: tasks of either library await the other's senders") {
  running_context at;
  stream_pair pair(at.context);
  const auto later = [](beck::io_context& context) -> beck::task<int> {
    co_await beck::post(context);
    co_return co_await be::from_sender(ex::just(5));
  };
  auto [five] = ex::sync_wait(be::as_sender(later(at.context), at.context)).value();
  CHECK(five == 5);
  auto [stayed] =
      ex::sync_wait(ex::on(be::scheduler_of(at.context), exchange(at.context, pair))).value();
  CHECK(stayed);
}
