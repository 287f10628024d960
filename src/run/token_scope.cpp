// SPDX-License-Identifier: BSL-1.0
// The relay between a stop token and a scope. It is a separate block because the scope may end
// while the message is in flight: then the message finds no scope, and frees the block.
#include <beck/detail/token_scope.hpp>

#include <beck/detail/block.hpp>
#include <new>

#include "run/stop_walk.hpp"

namespace beck::detail {

/// Carries one stop request from the thread that makes it to the executor of a scope.
class stop_relay final : private stop_registration, private queue_entry {
 public:
  static stop_relay* connect(scope& to, const stop_token& token) {
    auto* relay = ::new (allocate_block(sizeof(stop_relay))) stop_relay(to);
    relay->add(token, &send);
    return relay;
  }

  /// Disconnects the relay from its scope, which ends. Thread: inside the scope's executor.
  void disconnect() noexcept {
    remove();  // from now on send() is never called
    bool last = false;
    {
      const state_guard guard(lock_);
      scope_ = nullptr;
      last = !sent_ || arrived_;
    }
    if (last) free(this);
  }

 private:
  explicit stop_relay(scope& to) noexcept
      : scope_(&to), executor_(to.executor()), lock_(executor_.table()->concurrent) {}

  /// Posts the message to the executor; called by the thread that requests the stop.
  static void send(stop_registration& base) noexcept {
    auto& self = static_cast<stop_relay&>(base);
    self.sent_ = true;  // remove() waits for this function, so disconnect() sees it
    self.run = &arrive;
    const any_io_executor home = self.executor_;
    home.post(&self);
  }

  /// Stops the scope, if that still exists; called on the executor.
  static void arrive(queue_entry* entry, runner* where) {
    auto* self = static_cast<stop_relay*>(entry);
    bool last = false;
    stop_walk stops;
    {
      const state_guard guard(self->lock_);
      self->arrived_ = true;
      last = self->scope_ == nullptr;
      if (!last && where != nullptr) stops.tell(*self->scope_, stop_reason::stop);
    }
    if (last) free(self);
  }

  static void free(stop_relay* self) noexcept {
    self->~stop_relay();
    free_block(self);
  }

  scope* scope_;
  any_io_executor executor_;
  state_lock lock_;
  bool sent_ = false;
  bool arrived_ = false;
};

void stop_link::connect(scope& to, const stop_token& token) {
  if (to.stop_requested()) return;
  if (token.stop_requested()) {
    to.stop();
  } else if (token.stop_possible()) {
    relay_ = stop_relay::connect(to, token);
  }
}

void stop_link::disconnect() noexcept {
  if (relay_ != nullptr) std::exchange(relay_, nullptr)->disconnect();
}

}  // namespace beck::detail
