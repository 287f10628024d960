// SPDX-License-Identifier: BSL-1.0
// Subscriptions are thin: the router knows names and subscribers, the link makes connections.
#include <beck/base/assert.hpp>
#include <beck/redis/client.hpp>
#include <beck/redis/subscription.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "redis/client/link.hpp"

namespace beck::redis {
namespace detail {

// --- names

void topic_names::add(topic_kind kind, std::string_view name) {
  if (name.size() > name_bytes_max) {
    has_long_name_ = true;
    return;
  }
  const auto bytes = static_cast<std::uint32_t>(name.size());
  char* const to = bytes_.extend(1 + sizeof bytes + name.size());
  *to = static_cast<char>(kind);
  std::memcpy(to + 1, &bytes, sizeof bytes);
  if (!name.empty()) std::memcpy(to + 1 + sizeof bytes, name.data(), name.size());
  ++count_;
}

std::string_view topic_names::next(std::string_view& rest, topic_kind& kind) noexcept {
  std::uint32_t bytes = 0;
  kind = static_cast<topic_kind>(rest.front());
  std::memcpy(&bytes, rest.data() + 1, sizeof bytes);
  const std::string_view name = rest.substr(1 + sizeof bytes, bytes);
  rest.remove_prefix(1 + sizeof bytes + name.size());
  return name;
}

// --- add()

add_op::~add_op() {
  if (call_ != nullptr) to_->owner().pushes().router().forget(*call_);
}

void add_op::initiate(handler done) {
  error_code refused = to_->end_reason();
  std::unique_ptr<add_call> call;
  const bool are_many = names_.count() > to_->bounds().channels - to_->topics;
  if (!refused && (are_many || names_.has_long_name())) refused = error::request_too_large;
  if (!refused) {
    call = std::make_unique<add_call>();
    call->op = this;
    call->of = to_;
  }
  done_ = std::move(done);
  call_ = call.get();
  if (!refused) return to_->owner().pushes().subscribe(std::move(call), names_);
  handler ended = std::move(done_);
  ended(refused);
}

namespace {

/// Returns the options with values that count.
subscription_options with_an_event(subscription_options how) noexcept {
  how.events = std::max<std::size_t>(how.events, 1);
  return how;
}

}  // namespace

// A subscriber shares its link, which is complete here.
subscriber::subscriber(link_ref of, const subscription_options& how) noexcept
    : link_(std::move(of)), bounds_(with_an_event(how)) {}

subscriber::~subscriber() {
  BECK_ASSERT(topics == 0 && missing_ == 0, "a subscription was destroyed that has names");
  clear();
}

void add_op::cancel() noexcept {
  if (call_ != nullptr) to_->owner().pushes().end_subscribing(*call_);
}

any_io_executor add_op::get_executor() const noexcept { return to_->owner().executor(); }

any_io_executor next_op::get_executor() const noexcept { return from_->owner().executor(); }

}  // namespace detail

// --- subscription

subscription::subscription(client& of, const subscription_options& how)
    : self_(new detail::subscriber(detail::link_ref(detail::link_of(of.sender_)), how)) {
  self_->owner().pushes().join(*self_);
}

subscription::~subscription() {
  self_->owner().pushes().leave(*self_);
  delete self_;
}

io_result<push_event> subscription::try_next() noexcept {
  io_result<push_event> result;
  error_code ec;
  if (!self_->take(ec, result.value_)) ec = beck::error::would_block;
  result.error_ = ec;
  return result;
}

void subscription::remove_all(const detail::topic_names& names) noexcept {
  self_->owner().pushes().unsubscribe(*self_, names);
}

}  // namespace beck::redis
