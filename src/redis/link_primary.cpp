// SPDX-License-Identifier: BSL-1.0
// The way to the primary: the sentinels are asked before each connection, and one to another server
// is left.
#include <string>
#include <utility>

#include "redis/lane_pool.hpp"
#include "redis/link.hpp"

namespace beck::redis::detail {
namespace {

/// A server at the URL's address that says it is a replica is left at most so often: it may be the
/// only one.
constexpr std::int64_t leave_pause = 1'000'000'000;

/// Returns whether sentinels that answer so will do so again.
bool is_lasting(const error_code& ec) noexcept {
  return ec == error::unknown_primary || ec == error::noauth || ec == error::wrongpass ||
         ec == error::noperm;
}

}  // namespace

link::link(const any_io_executor& executor, server_url to, const client_options& how,
           shared<sentinels> by)
    : link(executor, std::move(to), how) {
  sentinels_ = std::move(by);
  place_.of = this;
}

/// Asks the sentinels where the primary is.
task<error_code> link::find_primary() {
  leads_to_ = node_address();
  auto finding = sentinels_->find();
  auto found = co_await std::move(finding);
  if (found.error()) {
    is_refused_ = is_lasting(found.error());
    text_ = sentinels_->reason();
  } else {
    leads_to_ = std::move(found.value_);
  }
  co_return found.error();
}

void link::lead_to(const node_address& primary) noexcept {
  if (is_closed_) return;
  const bool is_waiting = is_pausing();
  if (!is_waiting && (leads_to_.host.empty() || leads_to_ == primary)) return;
  failures_ = 0;
  if (is_waiting) {
    next_at_ = now() + pause().nanoseconds();
  } else {
    is_left_ = true;
    break_connection(error::not_primary);
  }
  stopping_.request_stop();
}

/// Sends no more to a server that has said that it is a replica. Replies to commands that were sent
/// are still received.
void link::leave_replica() noexcept {
  if (cause_) return;
  is_left_ = true;
  if (may_leave_) leave_at_ = now() + leave_pause;
  leave_lanes();
  fail_writing(error::readonly);
}

/// Ends the connections of lanes that are idle; those in use end when they are returned.
void link::leave_lanes() noexcept {
  ++turn_;
  if (lanes_) lanes_->drop_idle();
}

void link::reconnect() noexcept {
  if (is_closed_) return;
  leave_lanes();
  failures_ = 0;
  if (is_pausing()) {
    next_at_ = now();
    stopping_.request_stop();
  } else if (stream_ && !cause_) {
    is_left_ = true;
    fail_writing(beck::error::operation_aborted);
    if (!is_ready_ || session_.is_answered()) break_connection(cause_);
  }
}

}  // namespace beck::redis::detail
