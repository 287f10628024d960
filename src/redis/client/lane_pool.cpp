// SPDX-License-Identifier: BSL-1.0
// A place in the pool is free again when its connection is idle or has ended.
#include "redis/client/lane_pool.hpp"

#include <utility>

namespace beck::redis {
namespace detail {

task<io_result<lane>> lane_pool::take(link_ref home) {
  io_result<lane> result;
  lane_pool& pool = home->lanes();
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
  link* one = nullptr;
  for (link& each : idle_) {
    if (each.is_usable()) one = &each;  // others are about to end
  }
  try {
    if (one == nullptr) one = new link(home);
  } catch (...) {
    slots_.release();
    throw;
  }
  one->lane_hook_.unlink();
  one->lane()->set_state(lane_state::used);
  used_.push_back(*one);
  return link_ref(one);
}

void lane_pool::put(link& fresh) noexcept {
  fresh.add_share();
  fresh.lane()->set_state(lane_state::idle);
  fresh.lane_hook_.unlink();
  idle_.push_back(fresh);
  slots_.release();
}

void lane_pool::ended(link& gone) noexcept {
  gone.lane_hook_.unlink();
  if (gone.lane()->state() == lane_state::returned) return slots_.release();
  gone.lane()->set_state(lane_state::returned);
  gone.drop_share();
}

void lane_pool::close() noexcept {
  is_closed_ = true;
  slots_.release(waiting_);
  for (link& one : used_) one.close();
  drop_idle();
}

void lane_pool::drop_idle() noexcept {
  while (link* const one = idle_.pop_front()) {
    one->lane()->set_state(lane_state::returned);
    one->close();
    one->drop_share();
  }
}

}  // namespace detail

lane::~lane() {
  if (sender_) detail::link_of(sender_).return_to_pool();
}

std::int64_t lane::id() const noexcept { return detail::link_of(sender_).lane()->id(); }

void lane::close() noexcept { detail::link_of(sender_).close(); }

}  // namespace beck::redis
