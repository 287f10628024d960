// SPDX-License-Identifier: BSL-1.0
// Broken preconditions of public functions end the program with a message, in every build.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/collect_windowed.hpp>
#include <beck/coro/mutex.hpp>
#include <beck/coro/shared_mutex.hpp>
#include <beck/coro/when_range.hpp>
#include <beck/file/stream_file.hpp>
#include <beck/io/io_pool.hpp>
#include <beck/net/datagram_batch.hpp>
#include <beck/net/local.hpp>
#include <beck/net/resolver_results.hpp>
#include <beck/net/udp.hpp>
#include <beck/run/cancellation.hpp>
#include <beck/transfer/relay.hpp>

#include <sys/mman.h>
#include <exception>
#include <string>
#include <utility>

#include "base/dies.hpp"

namespace {

/// Whether `code` ends the program with a message that contains `message`.
template <class Code>
bool is_refused(Code&& code, const char* message) {
  const std::string text = dies_with(std::forward<Code>(code));
  return text.find(message) != std::string::npos;
}

}  // namespace

TEST_CASE("a guard that holds nothing cannot be unlocked") {
  CHECK(is_refused([] { beck::mutex_lock().unlock(); }, "holds no mutex"));
  CHECK(is_refused([] { beck::writer_lock().unlock(); }, "holds no lock"));
  CHECK(is_refused([] { beck::reader_lock().unlock(); }, "holds no lock"));
}

TEST_CASE("an index beyond the end of a list of results is refused") {
  const beck::all_failed none(1);
  CHECK(is_refused([&] { static_cast<void>(none[0]); }, "no error with this index"));
  CHECK(is_refused(
      [] {
        beck::all_failed full(1);
        for (int i = 0; i < 2; ++i) full.add(std::make_exception_ptr(i));
      },
      "more errors than"));
  const beck::detail::result_list<int> values;
  CHECK(is_refused([&] { static_cast<void>(values[0]); }, "no value has this index"));
  const beck::ip::name_answer names;
  CHECK(is_refused([&] { static_cast<void>(names.address(0)); }, "no address with this index"));
  CHECK(
      is_refused([] { static_cast<void>(beck::io_pool(1).at(1)); }, "no context with this index"));
}

TEST_CASE("an empty executor has no context, and an empty slot takes no handler") {
  CHECK(is_refused([] { static_cast<void>(beck::any_io_executor().context()); },
                   "a context that it does not have"));
  CHECK(is_refused([] { beck::cancellation_slot().assign([](beck::cancellation_type) {}); },
                   "without a signal"));
}

TEST_CASE("a datagram of a batch takes one segment size and one source") {
  const auto set_twice = [](auto set_first, auto set_again) {
    beck::send_batch<beck::ip::udp, 1> batch;
    const auto added = batch.add(beck::const_buffer("x", 1));
    set_first(added);
    set_again(added);
  };
  const auto size = [](auto added) { added.segment_size(100); };
  const auto v4 = [](auto added) { added.source(beck::ip::address_v4::loopback()); };
  const auto v6 = [](auto added) { added.source(beck::ip::address_v6::loopback()); };
  CHECK(is_refused([&] { set_twice(size, size); }, "has one segment size"));
  CHECK(is_refused([&] { set_twice(v4, v4); }, "has one source"));
  CHECK(is_refused([&] { set_twice(v4, v6); }, "has one source"));
  set_twice(size, v6);
}

TEST_CASE("a stream file is not moved to another position under an operation") {
  CHECK(is_refused(
      [] {
        beck::io_context ctx;
        beck::stream_file file(ctx, ::memfd_create("beck", 0));
        const char data[8] = {};
        beck::post(ctx, [&] {
          file.async_write_some(beck::buffer(data), [](beck::error_code, std::size_t) {});
          file.seek(0, beck::file_object::seek_set);
        });
        ctx.run();
      },
      "while an operation is under way"));
}

TEST_CASE("a relay between two contexts is refused") {
  CHECK(is_refused(
      [] {
        beck::io_context one;
        beck::io_context two;
        beck::local::stream_protocol::socket a(one);
        beck::local::stream_protocol::socket b(two);
        auto relay = beck::relay(a, b);
        beck::co_spawn(one, std::move(relay), beck::detached);
        one.run();
      },
      "streams of two contexts"));
}
