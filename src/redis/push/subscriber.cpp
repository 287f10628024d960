// SPDX-License-Identifier: BSL-1.0
// A loss before a message is noted with it. If that message is lost, too, its notes go to the
// next one.
#include "redis/push/subscriber.hpp"

#include <cstring>
#include <new>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/detail/block.hpp>

namespace beck::redis::detail {
namespace {

void append(char*& to, std::string_view text) noexcept {
  if (!text.empty()) std::memcpy(to, text.data(), text.size());
  to += text.size();
}

/// Returns the bytes that a message counts in a queue.
std::size_t counted(const push_message& message) noexcept { return message.bytes() + 16; }

}  // namespace

// --- messages

push_message* make_message(std::string_view pattern, std::string_view channel,
                           std::string_view payload) {
  const std::size_t bytes = sizeof(push_message) + pattern.size() + channel.size() + payload.size();
  auto* const made = ::new (beck::detail::allocate_block(bytes)) push_message{
      1, static_cast<std::uint32_t>(pattern.size()), static_cast<std::uint32_t>(channel.size()),
      static_cast<std::uint32_t>(payload.size())};
  char* to = reinterpret_cast<char*>(made + 1);
  append(to, pattern);
  append(to, channel);
  append(to, payload);
  return made;
}

void drop_share(push_message& of) noexcept {
  BECK_ASSERT(of.shares != 0, "a message was released that has no shares");
  if (--of.shares == 0) beck::detail::free_block(&of);
}

// --- the queue

void subscriber::clear() noexcept {
  while (!queue_.empty()) pop();
  behind_ = hole();
}

bool subscriber::is_full(std::size_t bytes) const noexcept {
  if (queue_.size() >= bounds_.events) return true;
  return !queue_.empty() && (bytes > bounds_.queue_bytes || bytes_ > bounds_.queue_bytes - bytes);
}

bool subscriber::offer(push_message& message) {
  const std::size_t bytes = counted(message);
  if (is_full(bytes)) {
    if (bounds_.overflow == overflow_policy::end_when_full) return false;
    if (bounds_.overflow == overflow_policy::drop_newest) {
      ++behind_.dropped;
      return true;
    }
    while (is_full(bytes)) drop_oldest();
  }
  queue_.push_back(item{&message, behind_});
  behind_ = hole();
  ++message.shares;
  bytes_ += bytes;
  serve();
  return true;
}

void subscriber::pop() noexcept {
  push_message& message = *queue_.front().message;
  BECK_ASSERT(bytes_ >= counted(message), "a queue of messages has lost count of its bytes");
  bytes_ -= counted(message);
  drop_share(message);
  queue_.pop_front();
  ++popped_;
}

void subscriber::drop_oldest() noexcept {
  const hole lost = queue_.front().before;
  pop();
  hole& next = queue_.empty() ? behind_ : queue_.front().before;
  next.dropped += lost.dropped + 1;
  next.is_gap = next.is_gap || lost.is_gap;
}

void subscriber::drop_next() noexcept {
  ++behind_.dropped;
  serve();
}

void subscriber::miss(membership& one) noexcept {
  BECK_ASSERT(one.of == this && !one.is_missing, "a subscription misses a name twice");
  one.is_missing = true;
  behind_.is_gap = true;
  if (missing_++ == 0) held_at_ = popped_ + queue_.size();
}

void subscriber::find_again(membership& one) noexcept {
  if (!std::exchange(one.is_missing, false)) return;
  BECK_ASSERT(missing_ != 0, "a subscription has found more names than it missed");
  if (--missing_ == 0) serve();
}

void subscriber::end(const error_code& why) noexcept {
  if (end_reason_) return;
  end_reason_ = why;
  if (missing_ != 0) behind_.is_gap = false;
  serve();
}

bool subscriber::take(error_code& ec, push_event& event) noexcept {
  if (is_held() && popped_ >= held_at_) return false;
  hole& before = queue_.empty() ? behind_ : queue_.front().before;
  if (before.dropped != 0) {
    event = push_event(std::exchange(before.dropped, 0));
  } else if (std::exchange(before.is_gap, false)) {
    event = push_event();
  } else if (!queue_.empty()) {
    push_message& message = *queue_.front().message;
    ++message.shares;  // that of the event
    pop();
    event = push_event(message);
  } else {
    ec = end_reason_;
    return !!ec;
  }
  return true;
}

/// Completes operations that wait, as long as there is something for them.
void subscriber::serve() noexcept {
  while (!waiters_.empty()) {
    error_code ec;
    push_event event;
    if (!take(ec, event)) return;
    static_cast<next_op&>(*waiters_.pop()).complete(ec, std::move(event));
  }
}

// --- awaiting it

next_op::~next_op() {
  if (is_listed()) from_->leave(*this);
}

bool next_op::ready() noexcept {
  error_code ec;
  push_event event;
  return from_->take(ec, event) && finish(ec, std::move(event));
}

void next_op::initiate(handler done) {
  done_ = std::move(done);
  error_code ec;
  push_event event;
  if (from_->take(ec, event)) return complete(ec, std::move(event));
  on_wake(&drop);
  from_->wait(*this);
}

/// Drops the handler: the context is being destroyed.
void next_op::drop(waiter& self, int) noexcept {
  auto& one = static_cast<next_op&>(self);
  one.from_ = nullptr;
  const handler gone = std::move(one.done_);
}

void next_op::cancel() noexcept {
  if (from_ != nullptr && from_->leave(*this))
    complete(beck::error::operation_aborted, push_event());
}

void next_op::complete(error_code ec, push_event&& event) noexcept {
  handler done = std::move(done_);
  from_ = nullptr;  // it may be gone before the caller continues
  done(ec, std::move(event));
}

}  // namespace beck::redis::detail
