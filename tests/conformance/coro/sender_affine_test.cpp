// SPDX-License-Identifier: BSL-1.0
//
// Senders that complete where they were started: at once if the completion is there, else through
// the queue of the start scheduler, with their results.
#include <array>
#include <beck/interop/execution.hpp>
#include <beck/run/strand.hpp>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "support/context_options.hpp"
#include "support/receivers.hpp"
#include "support/stream_pair.hpp"

namespace ex = beck::execution;
using beck::test::completion_notes;
using beck::test::noting_receiver;
using beck::test::ready_sender;
using beck::test::stream_pair;

namespace {

struct start_env : beck::test::token_env {
  ex::scheduler start;
  using token_env::query;
  ex::scheduler query(ex::get_start_scheduler_t) const noexcept { return start; }
};

/// A receiver whose sender was started on a scheduler. Notes whether its completion is there.
class started_on : public noting_receiver {
 public:
  started_on(completion_notes& told, ex::scheduler start, ex::inplace_stop_token token = {})
      : noting_receiver(told, token), env_{{token}, start} {}
  template <class... T>
  void set_value(T&&... values) noexcept {
    check();
    noting_receiver::set_value(std::forward<T>(values)...);
  }
  template <class Error>
  void set_error(Error&& error) noexcept {
    check();
    noting_receiver::set_error(std::forward<Error>(error));
  }
  void set_stopped() noexcept {
    check();
    noting_receiver::set_stopped();
  }
  start_env get_env() const noexcept { return env_; }

 private:
  void check() const noexcept { CHECK(env_.start.get_executor().running_in_this_thread()); }
  start_env env_;
};

template <class Sender>
auto state_for(Sender&& sender, completion_notes& told, ex::scheduler start,
               ex::inplace_stop_token token = {}) {
  return ex::connect(std::forward<Sender>(sender).affine(), started_on(told, start, token));
}

auto read(stream_pair& pair, std::array<char, 8>& space) {
  return ex::as_sender(pair.b.async_read_some(beck::buffer(space)));
}

void send(stream_pair& pair, std::size_t size) {
  CHECK(pair.a.write_some(beck::buffer("abcdefg", size)) == size);
}

/// A scheduler of another library, which counts the turns of its queue.
struct foreign_scheduler {
  using scheduler_concept = ex::scheduler_tag;
  beck::io_context* context;
  int* turns;
  auto schedule() const {
    ++*turns;
    return ex::scheduler_of(*context).schedule();
  }
};
struct on_foreign : noting_receiver {
  on_foreign(completion_notes& told, foreign_scheduler at) : noting_receiver(told), start(at) {}
  struct env {
    foreign_scheduler start;
    foreign_scheduler query(ex::get_start_scheduler_t) const noexcept { return start; }
  };
  env get_env() const noexcept { return {start}; }
  foreign_scheduler start;
};

/// A value that cannot be moved a second time.
struct moves_once {
  explicit moves_once(int left) : moves_left(left) {}
  moves_once(moves_once&& other) : moves_left(other.moves_left - 1) {
    if (moves_left < 0) throw std::runtime_error("moved too often");
  }
  int moves_left;
};
struct moves_once_sender {
  using sender_concept = ex::sender_tag;
  template <class Self, class... Env>
  static consteval auto get_completion_signatures() {
    return ex::completion_signatures<ex::set_value_t(moves_once)>();
  }
  template <class Receiver>
  struct state {
    using operation_state_concept = ex::operation_state_tag;
    Receiver receiver;
    beck::io_context* elsewhere;
    void start() & noexcept {
      beck::post(*elsewhere, [this] { std::move(receiver).set_value(moves_once(0)); });
    }
  };
  template <class Receiver>
  state<Receiver> connect(Receiver r) && {
    return {std::move(r), elsewhere};
  }
  beck::io_context* elsewhere;
};
struct takes_moves_once : started_on {
  using started_on::set_value;
  using started_on::started_on;
  void set_value(moves_once&&) noexcept { started_on::set_value(); }
};

static_assert(std::is_same_v<decltype(std::declval<ex::detail::schedule_sender>()
                                          .affine()
                                          .get_completion_signatures<void, start_env>()),
                             ex::completion_signatures<ex::set_value_t(), ex::set_stopped_t()>>);

}  // namespace

CONFORMANCE("an affine sender completes without a turn of the queue on its own scheduler") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  const auto start = ex::scheduler_of(ctx);
  std::array<char, 8> space{};
  completion_notes ready, waited, plain;

  auto first = state_for(read(pair, space), ready, start);
  beck::post(ctx, [&] {
    send(pair, 5);
    first.start();
  });
  ctx.run();
  ctx.restart();
  CHECK(ready.values == 1);
  CHECK(ready.bytes == 5);

  // A read that waits costs as many entries of the queue with affine() as without.
  const auto entries_of = [&](auto& state) {
    beck::post(ctx, [&] { state.start(); });
    ctx.poll();
    ctx.restart();
    send(pair, 3);
    const auto before = ctx.stats().entries_run;
    ctx.run();
    ctx.restart();
    return ctx.stats().entries_run - before;
  };
  auto second = state_for(read(pair, space), waited, start);
  auto third = ex::connect(read(pair, space), noting_receiver(plain));
  CHECK(entries_of(second) == entries_of(third));
  CHECK(waited.values == 1);
  CHECK(plain.values == 1);
}

CONFORMANCE("an affine sender takes its results to the scheduler where it was started") {
  beck::io_context ctx(context_options());
  beck::io_context home(context_options());
  stream_pair pair(home);
  const auto start = ex::scheduler_of(ctx);
  std::array<char, 8> space{};
  ex::inplace_stop_source source;
  completion_notes value, error, stop;

  auto first = state_for(read(pair, space), value, start, source.get_token());
  send(pair, 5);
  first.start();
  home.run();
  home.restart();
  CHECK(value.all() == 0);
  source.request_stop();  // too late: the bytes are there
  CHECK(ctx.run() == 1);
  ctx.restart();
  CHECK(value.values == 1);
  CHECK(value.bytes == 5);

  ex::inplace_stop_source other;
  auto second = state_for(read(pair, space), stop, start, other.get_token());
  second.start();
  home.poll();
  home.restart();
  other.request_stop();
  home.run();
  home.restart();
  CHECK(stop.all() == 0);
  ctx.run();
  ctx.restart();
  CHECK(stop.stops == 1);

  pair.a.close();
  auto third = state_for(read(pair, space), error, start);
  third.start();
  home.run();
  CHECK(error.all() == 0);
  ctx.run();
  CHECK(error.errors == 1);
  CHECK(error.error == beck::error::eof);
}

CONFORMANCE("an affine sender on a scheduler of another library spares the turn inside start") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::array<char, 8> space{};
  int turns = 0;
  int left = 1;
  completion_notes inside, waited;
  const foreign_scheduler start{&ctx, &turns};
  ex::affine_sender sender(ready_sender{&left});
  auto first = ex::connect(std::move(sender), on_foreign(inside, start));
  first.start();
  CHECK(inside.values == 1);
  CHECK(turns == 0);

  auto second = ex::connect(read(pair, space).affine(), on_foreign(waited, start));
  second.start();
  ctx.poll();
  ctx.restart();
  send(pair, 3);
  ctx.run();
  CHECK(turns == 1);
  CHECK(waited.values == 1);
}

CONFORMANCE("an affine sender may be started many times, and inside a strand") {
  beck::io_context ctx(context_options());
  auto strand = beck::make_strand(ctx);
  int runs = 0;
  const auto work = [&]() -> beck::task<int> {
    co_await beck::post(ctx);
    co_return ++runs;
  };
  const auto again = ex::as_sender(work, ctx);
  completion_notes told;
  auto first = state_for(again, told, ex::scheduler_of(strand));
  auto second = state_for(again, told, ex::scheduler_of(strand));
  auto third = state_for(ex::scheduler_of(ctx).schedule(), told, ex::scheduler_of(strand));
  first.start();
  second.start();
  third.start();
  ctx.run();
  CHECK(told.values == 3);
  CHECK(runs == 2);
}

CONFORMANCE("an affine sender reports a value that cannot be kept") {
  beck::io_context ctx(context_options());
  beck::io_context elsewhere(context_options());
  completion_notes told;
  auto state = ex::connect(ex::affine_sender<moves_once_sender>(moves_once_sender{&elsewhere}),
                           takes_moves_once(told, ex::scheduler_of(ctx)));
  state.start();
  elsewhere.run();
  ctx.run();
  CHECK(told.errors == 1);
  CHECK(told.exception == "moved too often");
}
