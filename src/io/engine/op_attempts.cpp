// SPDX-License-Identifier: BSL-1.0
// Makes the calls of such attempts, and judges their results.
#include "io/engine/op_attempts.hpp"

#include <cerrno>

#include "io/engine/op_locks.hpp"
#include "io/op/lent_buffers.hpp"
#include "io/op/perform.hpp"
#include "io/op/readiness.hpp"
#include "io/op/transitions.hpp"

namespace beck::detail {
namespace {

/// Charges a batch of datagrams to the budget. A batch that was not filled has found the last
/// datagram: the next one comes with an event.
void note_messages(const io_op& op, direction& q, runner& where) noexcept {
  if (op.address == nullptr || op.transferred == 0) return;
  where.charge(static_cast<unsigned>(op.transferred - 1));
  if (op.kind != op_kind::receive_message || op.transferred == op.length) return;
  // A batch also ends before an error, which the next call returns. An event has reported that
  // error before, and has set `reads_until_empty`.
  if (!op.target->reads_until_empty) note_not_ready(q);
}

}  // namespace

op_attempts::op_attempts(io_loop& loop, loop_core& core, op_locks& locks, std::size_t buffers,
                         std::size_t bytes)
    : core_(core), locks_(locks), leases_(new lease_pool(loop, buffers, bytes)), accepts_(loop) {}

/// Makes the system call of an attempt.
inline std::ptrdiff_t op_attempts::make_call(io_op& op) noexcept {
  return core_.is_shared ? locks_.make_call(op) : perform(*core_.sys, op);
}

bool op_attempts::attempt(io_op& op, descriptor& d, direction& q) noexcept {
  if (op.kind == op_kind::receive_lease) return attempt_leased(op, d, q);
  return_buffers(op);
  runner& where = *runner::current();
  context_stats& counters = counters_here(core_);
  while (worth_attempting(q, op.kind) && where.spend(runner::call_weight)) {
    ++counters.attempts;
    const std::ptrdiff_t r = make_call(op);
    if (r == -EAGAIN) {
      ++counters.wrong_attempts;
      note_not_ready(q);
      if (op.kind == op_kind::accept || op.kind == op_kind::wait_error)
        op.flags |= io_op::flag_tried;
      return false;
    }
    if (op.kind == op_kind::accept) {
      const accept_pause::verdict verdict = accepts_.judge(r);
      if (verdict == accept_pause::verdict::again) {
        ++counters.retries;
        continue;
      }
      if (verdict == accept_pause::verdict::pause) {
        op.result = static_cast<int>(r);
        op.flags |= io_op::flag_exhausted;
        return false;
      }
    }
    if (is_message(op.kind)) note_messages(op, q, where);
    op.result = static_cast<int>(r);
    return true;
  }
  return false;
}

/// Attempts a read into a leased buffer, which is taken only if there may be data, and kept only if
/// there was some. Requires the lock of a shared loop.
bool op_attempts::attempt_leased(io_op& op, descriptor& d, direction& q) noexcept {
  runner& where = *runner::current();
  if (!worth_attempting(q, op.kind) || !where.spend(runner::call_weight)) return false;
  if (op.address == nullptr) op.address = leases_->take();
  if (op.address == nullptr) {
    note_ready(q);  // no call was made that could have found out more
    op.result = -ENOMEM;
    if (leases_->buffers() == 0) return true;
    op.flags |= io_op::flag_exhausted;
    ++core_.counters.lease_waits;
    return false;
  }
  lease_slot& taken = *static_cast<lease_slot*>(op.address);
  ++core_.counters.attempts;
  io_vector room{taken.data, leases_->bytes()};
  const std::ptrdiff_t r = is_socket(d) ? receive_from(*core_.sys, d, room.data, room.bytes)
                                        : core_.sys->read(d.fd, &room, 1);
  if (r > 0) {
    ++core_.counters.leases;
    where.charge(static_cast<unsigned>(static_cast<std::size_t>(r) / runner::bytes_per_weight));
    op.transferred = static_cast<std::size_t>(r);
    op.result = 0;
    core_.rules.note_received(d, q, room.bytes, op.transferred);
    return true;
  }
  op.address = nullptr;
  leases_->put_back(taken);
  if (r == -EAGAIN) {
    ++core_.counters.wrong_attempts;
    note_not_ready(q);
    return false;
  }
  op.result = r < 0 ? static_cast<int>(r) : eof_result;
  return true;
}

// --- operations that lack something other than readiness ----------------------------------------

bool op_attempts::pause_if_exhausted(io_op& op) noexcept {
  if (!is_paused(op)) return false;
  if (op.kind == op_kind::receive_lease) {
    advance(op, op_event::park);
    leases_->wait(op);
  } else {
    accepts_.add(op);
  }
  return true;
}

void op_attempts::leave_pause(io_op& op) noexcept {
  BECK_ASSERT(is_paused(op), "an operation leaves a pause that it is not in");
  op.kind == op_kind::receive_lease ? leases_->leave(op) : accepts_.remove(op);
}

}  // namespace beck::detail
