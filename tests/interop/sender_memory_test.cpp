// SPDX-License-Identifier: BSL-1.0
// The memory of senders: the size of their states, no allocation, and the stack of their loops.
#include <doctest/doctest.h>
#include <array>
#include <beck/coro/co_spawn.hpp>
#include <beck/interop/execution.hpp>
#include <beck/net/local.hpp>

#include "support/allocations.hpp"
#include "support/receivers.hpp"
#include "support/small_stack.hpp"

namespace ex = beck::execution;
using beck::test::completion_notes;
using beck::test::state_of;
using beck::test::steadfast;
using local_socket = beck::local::stream_protocol::socket;

TEST_CASE("senders: the state of a read has 256 bytes, and a round of it allocates nothing") {
  beck::io_context ctx;
  local_socket a(ctx), b(ctx);
  beck::local::connect_pair(a, b);
  std::array<char, 8> space{};
  const auto read = [&] { return ex::as_sender(b.async_read_some(beck::buffer(space))); };
  CHECK(sizeof(state_of<decltype(read()), steadfast>) <= 256);
  CHECK(sizeof(state_of<decltype(ex::scheduler_of(ctx).schedule()), steadfast>) <= 40);
  completion_notes told;
  const auto round = [&] {
    auto state = ex::connect(read(), steadfast{&told});
    auto turn = ex::connect(ex::scheduler_of(ctx).schedule(), steadfast{&told});
    auto pause =
        ex::connect(ex::scheduler_of(ctx).schedule_after(beck::duration(1)), steadfast{&told});
    state.start();
    turn.start();
    pause.start();
    beck::post(ctx, [&] { a.write_some(beck::buffer("x", 1)); });
    ctx.run();
    ctx.restart();
  };
  for (int i = 0; i < 4; ++i) round();
  const auto before = beck::test::allocations();
  for (int i = 0; i < 16; ++i) round();
  CHECK(beck::test::allocations() == before);
  CHECK(told.values == 60);
}

namespace {

/// Starts an operation again inside its completion, without a loop.
class restarting {
 public:
  explicit restarting(int rounds) : left_(rounds) {}
  void again() noexcept {
    which_ = 1 - which_;  // the other state is still inside its completion
    auto& next_state = states_[which_];
    next_state.emplace(ex::detail::in_place{
        [this] { return ex::connect(ex::as_sender(ready_operation()), next{this}); }});
    next_state->start();
  }
  int left() const noexcept { return left_; }

 private:
  class ready_operation : public beck::op<ready_operation, void(beck::error_code)> {
   public:
    bool ready() { return finish(beck::error_code()); }
    void initiate(handler done) { done(beck::error_code()); }
  };
  struct next {
    using receiver_concept = ex::receiver_tag;
    restarting* self;
    void set_value() noexcept {
      if (--self->left_ != 0) self->again();
    }
    void set_error(auto&&) noexcept { std::abort(); }
    void set_stopped() noexcept {}
  };
  using state = state_of<decltype(ex::as_sender(ready_operation())), next>;

  std::array<std::optional<state>, 2> states_;
  std::size_t which_ = 0;
  int left_;
};

}  // namespace

TEST_CASE(
    "senders: an operation that is started again inside its completion keeps the stack small") {
  beck::test::on_stack(256u << 10, [] {
    beck::io_context ctx;
    restarting loop(200'000);
    bool gave_way = false;
    beck::post(ctx, [&] {
      beck::post(ctx, [&] { gave_way = loop.left() > 100'000; });
      loop.again();
    });
    ctx.run();
    CHECK(loop.left() == 0);
    CHECK(gave_way);
  });
}
