// SPDX-License-Identifier: BSL-1.0
// A request to cancel an operation whose context another thread runs: an order that goes there from
// the executor of the handler, and comes back.
#include <beck/base/assert.hpp>
#include <beck/io/operation.hpp>

#include "io/loop/io_loop.hpp"
#include "io/loop/loop_access.hpp"

namespace beck {

bool cancel_operation(io_op& op) noexcept {
  return loop_of(op).as_runner([&op](io_loop& loop) { loop.cancel(op, false); });
}

void remote_cancel::request(io_op& op, const any_io_executor& home) noexcept {
  if (cancel_operation(op) || message_) return;
  BECK_ASSERT(home.target() != &loop_of(op),
              "a cancellation_signal was emitted outside of the context that runs what "
              "listens to it");
  io_loop& loop = loop_of(op);
  message_.emplace(&act_there, this);
  op_ = &op;
  home_ = &home;
  loop.send_order(&*message_);
}

void remote_cancel::act_there(void* self) noexcept {
  auto& request = *static_cast<remote_cancel*>(self);
  loop_of(*request.op_).cancel(*request.op_, false);
  request.message_->run = &come_home;
  request.home_->post(&*request.message_);
}

void remote_cancel::come_home(queue_entry* entry, runner* where) {
  auto& request = *static_cast<remote_cancel*>(static_cast<loop_order*>(entry)->subject);
  request.message_.reset();
  if (request.delivery_ != nullptr) request.delivery_->run(request.delivery_, where);
}

}  // namespace beck
