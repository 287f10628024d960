// SPDX-License-Identifier: BSL-1.0
// A quarter of the descriptors of a process is left for files and the rest.
#include "http/server/connection_room.hpp"

#include <algorithm>

#include <beck/base/assert.hpp>

#include "http/server/worker.hpp"

namespace beck::http::detail {

task<bool> connection_room::wait() {
  while (is_full() && !worker_.is_cut()) {
    if (!worker_.is_draining() && evicting_ <= waiting_) evict();
    ++waiting_;
    auto waited = co_await freed_.wait();
    --waiting_;
    if (waited.error()) co_return false;
  }
  co_return !worker_.is_cut();
}

bool connection_room::is_full() const noexcept {
  const std::size_t share = descriptors_ / 4 * 3 / worker_.server().serving();
  const std::size_t most = std::max<std::size_t>(share, 1);
  return worker_.connections() >= std::min(worker_.bounds().connections, most);
}

/// Closes a connection: the first one whose client has left while its request is handled, else the
/// oldest one that has sent no whole head, else the one that is idle longest; without any, none.
void connection_room::evict() {
  if (connection* const left = left_.pop_front(); left != nullptr) {
    note_evicted(*left);
    return left->cut();
  }
  connection* leaves = newcomers_.pop_front();
  if (leaves == nullptr) {
    timed_entry* const longest = worker_.clock().longest_in(phase::idle);
    if (longest == nullptr) return;
    worker_.clock().enter(*longest, phase::none);
    leaves = &longest->owner;
  }
  note_evicted(*leaves);
  leaves->close();
}

/// Counts a connection as one that makes room until it has gone.
void connection_room::note_evicted(connection& one) noexcept {
  BECK_ASSERT(!one.is_evicted, "a connection is closed for two others");
  one.is_evicted = true;
  ++evicting_;
  worker_.counters().evicted.add();
}

void connection_room::add(connection& one) noexcept {
  newcomers_.push_back(one);
  note_evictable();
}

void connection_room::remove(connection& one) noexcept {
  one.evict_hook.unlink();
  BECK_ASSERT(!one.is_evicted || evicting_ != 0, "a connection that makes room was not counted");
  if (one.is_evicted) --evicting_;
  freed_.set();
}

void connection_room::note_left(connection& one) noexcept {
  if (!one.evict_hook.is_linked() && !one.is_evicted) left_.push_back(one);
  note_evictable();
}

}  // namespace beck::http::detail
