// SPDX-License-Identifier: BSL-1.0
// A place in the pool is free again when its connection is idle or has ended.
#include "redis/client/lane_pool.hpp"

#include <utility>

#include <beck/base/assert.hpp>

#include "redis/client/link.hpp"

namespace beck::redis {
namespace detail {

task<io_result<lane>> lane_pool::take(link_ref home) {
  io_result<lane> result;
  lane_pool& pool = *home->lanes();
  if (pool.is_closed_) {
    result.error_ = beck::error::operation_aborted;
    co_return result;
  }
  if (pool.waiting_ >= home->bounds().waiting) {
    result.error_ = error::queue_full;
    co_return result;
  }
  ++pool.waiting_;
  auto acquiring = pool.slots_.acquire();
  auto acquired = co_await std::move(acquiring);
  BECK_ASSERT(pool.waiting_ != 0, "more calls have ended than wait for a lane");
  --pool.waiting_;
  result.error_ = acquired.error_;
  if (!result.error_ && pool.is_closed_) result.error_ = beck::error::operation_aborted;
  if (result.error_) co_return result;
  link_ref connection = pool.next(*home);
  lane made{sender_ref(*connection)};   // from here on its destructor frees the place
  if (connection->lane()->id() == 0) {  // new, or returned before the answer came
    auto asking = made.exec<long long>("CLIENT", "ID");
    auto id = co_await std::move(asking);
    if (id.outcome() != outcome::executed) {
      result.error_ = id.error();
      co_return result;
    }
    connection->lane()->set_id(id ? *id : 0);
  }
  result.value_ = std::move(made);
  co_return result;
}

/// Returns the connection that was returned last, or makes one.
link_ref lane_pool::next(link& home) {
  lane_part* one = nullptr;
  for (lane_part& each : idle_) {
    if (each.owner().connection().is_usable()) one = &each;  // others are about to end
  }
  if (one != nullptr) {
    one->change(lane_event::take);
    one->in_pool.unlink();
  } else {
    try {
      one = (new link(home))->lane();
    } catch (...) {
      slots_.release();
      throw;
    }
  }
  used_.push_back(*one);
  return link_ref(&one->owner());
}

void lane_pool::put(lane_part& fresh) noexcept {
  fresh.change(lane_event::keep);
  fresh.owner().add_share();
  fresh.in_pool.unlink();
  idle_.push_back(fresh);
  slots_.release();
}

void lane_pool::take_end(lane_part& gone) noexcept {
  const lane_state was = gone.state();
  if (was == lane_state::used || was == lane_state::dropped) return;
  gone.change(lane_event::drop);
  gone.in_pool.unlink();
  if (was == lane_state::returned) return slots_.release();
  gone.owner().drop_share();  // an idle one had no place
}

void lane_pool::close() noexcept {
  is_closed_ = true;
  slots_.release(waiting_);
  for (lane_part& one : used_) one.owner().close();
  drop_idle();
}

void lane_pool::drop_idle() noexcept {
  while (lane_part* const one = idle_.pop_front()) {
    one->change(lane_event::drop);
    link& owner = one->owner();
    owner.close();
    owner.drop_share();
  }
}

}  // namespace detail

lane::~lane() {
  if (sender_) detail::link_of(sender_).lane()->give_back();
}

std::int64_t lane::id() const noexcept { return detail::link_of(sender_).lane()->id(); }

void lane::close() noexcept { detail::link_of(sender_).close(); }

}  // namespace beck::redis
