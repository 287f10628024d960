// SPDX-License-Identifier: BSL-1.0
// Events to readiness bits to queued attempts.
#include "io/op/readiness.hpp"

#include "base/test_build.hpp"
#include "io/loop/io_loop.hpp"
#include "io/op/perform.hpp"

namespace beck {
namespace {

constexpr std::uint8_t predictor_max = 3;

unsigned wake(io_loop& loop, direction& q) noexcept {
  q.ready = readiness::known;
  io_op* op = q.current;
  if (op == nullptr || op->state != op_state::parked || loop.is_paused(*op)) return 0;
  if (planted(planted_bug::lost_wake_up) && loop.counters().completions % 8 == 0) return 0;
  if (is_read(op->kind) && q.predictor < predictor_max && loop.speculates()) ++q.predictor;
  loop.queue_attempt(*op);
  return 1;
}

}  // namespace

unsigned note_events(io_loop& loop, descriptor& d, unsigned events) noexcept {
  const bool ended = (events & (poll_read_hang_up | poll_hang_up | poll_error)) != 0;
  unsigned woken = 0;
  if (ended || (events & poll_priority) != 0) d.reads_until_empty = true;
  if (ended || (events & poll_in) != 0) woken += wake(loop, d.queue[direction_in]);
  if ((events & (poll_out | poll_hang_up | poll_error)) != 0)
    woken += wake(loop, d.queue[direction_out]);
  if ((events & (poll_error | poll_hang_up | poll_priority)) != 0) {
    woken += wake(loop, d.queue[direction_error]);
  }
  return woken;
}

}  // namespace beck
