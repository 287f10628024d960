// SPDX-License-Identifier: BSL-1.0
// The state that sources, tokens and registrations share: two counts, and a list of registrations.
// The lock of the list is never held while a registration is called.
#include <beck/run/stop_token.hpp>

#include <atomic>
#include <mutex>
#include <thread>

#include <beck/detail/block.hpp>

#include "base/use_check.hpp"

#include "base/fork_count.hpp"

namespace beck {
using namespace detail;

struct detail::stop_state {
  std::atomic<long> references{1};  // decrements release; the one that reaches 0 acquires
  std::atomic<long> sources{1};
  std::atomic<bool> requested{false};  // release: pairs with stop_requested()
  const unsigned forks = fork_count();
  std::mutex mutex;  // guards the members below except `next_in_chain`
  stop_registration* first = nullptr;
  stop_registration* running = nullptr;  // the registration that is being called
  std::thread::id runner;                // the thread that calls it
  stop_state* next_in_chain = nullptr;

  static stop_state* make() { return ::new (allocate_block(sizeof(stop_state))) stop_state; }
  void retain() noexcept { references.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    this->~stop_state();
    free_block(this);
  }

  bool request() noexcept;
  bool add(stop_registration& r) noexcept;
  void remove(stop_registration& r) noexcept;

 private:
  void unlink(stop_registration& r) noexcept {
    *r.link_ = r.next_;
    if (r.next_ != nullptr) r.next_->link_ = r.link_;
    r.link_ = nullptr;
  }
};

/// Requests the stop and calls the registrations, one by one and without the lock. Returns false if
/// a stop was requested before, or if the lock was lost in a fork.
bool stop_state::request() noexcept {
  std::unique_lock lock(mutex, std::defer_lock);
  if (!take_unless_lost(lock, forks)) return false;
  if (requested.exchange(true, std::memory_order_acq_rel)) return false;
  runner = std::this_thread::get_id();
  while (first != nullptr) {
    stop_registration& r = *first;
    unlink(r);
    bool gone = false;
    r.gone_ = &gone;
    running = &r;
    lock.unlock();
    held_locks::must_be_none();
    r.call_(r);
    lock.lock();
    if (!gone) r.gone_ = nullptr;
    running = nullptr;
  }
  return true;
}

/// Lists the registration. Returns false, and does not list it, if a stop was requested before.
bool stop_state::add(stop_registration& r) noexcept {
  std::unique_lock lock(mutex, std::defer_lock);
  if (!take_unless_lost(lock, forks)) return true;  // no stop can be requested any more
  if (requested.load(std::memory_order_relaxed)) return false;
  r.next_ = first;
  r.link_ = &first;
  if (first != nullptr) first->link_ = &r.next_;
  first = &r;
  return true;
}

/// Removes the registration. If another thread is calling it, waits until that call has returned.
void stop_state::remove(stop_registration& r) noexcept {
  std::unique_lock lock(mutex, std::defer_lock);
  if (!take_unless_lost(lock, forks)) return;
  if (r.link_ != nullptr) {
    unlink(r);
    return;
  }
  if (running != &r) return;
  if (runner == std::this_thread::get_id()) {
    *r.gone_ = true;  // it is destroyed inside its own call
    return;
  }
  while (running == &r && forks == known_fork_count()) {  // in a child of fork no thread calls it
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
}

// --- token and source ----------------------------------------------------------------------------

void stop_token::retain() const noexcept {
  if (state_ != nullptr) state_->retain();
}
void stop_token::release() const noexcept {
  if (state_ != nullptr) state_->release();
}

bool stop_token::stop_requested() const noexcept {
  return state_ != nullptr && state_->requested.load(std::memory_order_acquire);
}
bool stop_token::stop_possible() const noexcept {
  return state_ != nullptr &&
         (stop_requested() || state_->sources.load(std::memory_order_acquire) != 0);
}

stop_source::stop_source() : state_(stop_state::make()) {}
stop_source::stop_source(const stop_source& other) noexcept : state_(other.state_) {
  if (state_ == nullptr) return;
  state_->retain();
  state_->sources.fetch_add(1, std::memory_order_relaxed);
}
void stop_source::release() noexcept {
  state_->sources.fetch_sub(1, std::memory_order_release);
  state_->release();
}

bool stop_source::request_stop() const noexcept {
  if (state_ == nullptr) return false;
  const stop_token kept = get_token();  // a callback may destroy the last source
  return kept.state_->request();
}

void stop_chain::add(const stop_source& source) noexcept {
  source.state_->retain();
  source.state_->next_in_chain = first_;
  first_ = source.state_;
}

void stop_chain::request_all() noexcept {
  while (stop_state* const state = first_) {
    first_ = state->next_in_chain;
    state->request();
    state->release();
  }
}

// --- registrations -------------------------------------------------------------------------------

void stop_registration::add(const stop_token& token, function call) noexcept {
  call_ = call;
  if (token.state_ == nullptr) return;
  if (!token.state_->add(*this)) {
    call(*this);
    return;
  }
  token_ = token;
}

void stop_registration::remove() noexcept {
  if (token_.state_ == nullptr) return;
  token_.state_->remove(*this);
  token_ = stop_token();
}

}  // namespace beck
