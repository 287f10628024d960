// SPDX-License-Identifier: BSL-1.0
// The client and its operations are thin: the link does the work.
#include <beck/redis/client.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <beck/redis/lane.hpp>

#include "redis/client/lane_pool.hpp"
#include "redis/client/link.hpp"

namespace beck::redis {
namespace detail {
namespace {

/// Returns what is sent of a name: its front, with "-" for bytes that no name may have.
beck::detail::fixed_text<64> name_to_send(std::string_view name) noexcept {
  beck::detail::fixed_text<64> result;
  for (const char one : name.substr(0, result.capacity())) {
    const char plain[] = {one >= '!' && one <= '~' ? one : '-'};
    result.append({plain, 1});
  }
  return result;
}

/// Returns the options with values that count, and with this name.
client_options within_bounds(client_options how, std::string_view name) noexcept {
  how.in_flight = std::max(how.in_flight, 1U);
  how.attempts = std::max(how.attempts, 1U);
  how.lanes = std::max(how.lanes, 1U);
  how.name = name;
  return how;
}

}  // namespace

sender::sender(const any_io_executor& executor, const client_options& how) noexcept
    : executor_(executor),
      name_(name_to_send(how.name)),
      bounds_(within_bounds(how, {name_.data(), name_.size()})) {}

execution::execution(sender_ref of) noexcept : sender_(std::move(of)) {
  terms().limits = sender_->bounds().replies;
}

execution::~execution() {
  if (is_under_way()) sender_->forget(*this);
}

void execution::refuse(const error_code& why) noexcept {
  for (std::uint32_t i = 0; i < commands(); ++i) {
    reply_status& one = place_of(i).status();
    one.set(outcome::not_sent);
    one.set(why, {});
  }
  done(why);
}

void execution::stop() noexcept {
  if (!sender_) return;
  const sender_ref held = sender_;  // the end of the operation gives the other share back
  held->cancel(*this);
}

any_io_executor execution::executor() const noexcept {
  return sender_ ? sender_->executor() : any_io_executor();
}

any_io_executor exec_functions::get_executor() const noexcept { return sender_->executor(); }

void end_transaction(reply_status& result, const reply<void>* accepted) noexcept {
  if (accepted->error() && accepted->outcome() == outcome::executed) {
    // Without MULTI the commands may have run one by one.
    result.set(accepted->error(), accepted->error_text());
    result.set(outcome::maybe_executed);
  } else if (result.error() == error::null_reply && result.outcome() == outcome::executed) {
    result.set(error::watch_failed, {});
  }
}

void fail_in_transaction(reply_status& one, const reply_status& accepted,
                         const reply_status& result) noexcept {
  const reply_status& why = accepted.error() ? accepted : result;
  one.set(why.error(), why.text());
  one.set(result.outcome());
}

namespace {

link* make_link(const any_io_executor& executor, std::string_view url, const client_options& how) {
  if (executor.table()->concurrent)
    throw std::logic_error("redis: a client needs a context for one thread; use one for each");
  const std::int64_t refused_for = how.hold_timeout.nanoseconds();
  if (!is_sentinel_url(url)) return new link(executor, parse_server_url(url), how, refused_for);
  sentinel_url to = parse_sentinel_url(url);
  server_url primary = std::move(to.primary);
  shared<sentinels> watched(new sentinels(executor, std::move(to), how));
  return new link(executor, std::move(primary), how, refused_for, std::move(watched));
}

}  // namespace
}  // namespace detail

client::client(const any_io_executor& executor, std::string_view url, const client_options& how)
    : exec_functions(detail::sender_ref(detail::make_link(executor, url, how))) {}

client::~client() { close(); }

client& client::secure(stream_layer& with) noexcept {
  detail::link_of(sender_).plan().secure(with);
  return *this;
}

client& client::connect_with(connector& how) noexcept {
  detail::link_of(sender_).plan().connect_with(how);
  return *this;
}

client& client::login_with(credentials& from) noexcept {
  detail::link_of(sender_).plan().login_with(from);
  return *this;
}

void client::reconnect() noexcept { detail::link_of(sender_).reconnect(); }

task<io_result<lane>> client::lane() {
  return detail::lane_pool::take(detail::link_ref(detail::link_of(sender_)));
}

void client::close() noexcept { detail::link_of(sender_).close(); }

client_stats client::stats() const noexcept { return detail::link_of(sender_).counters().read(); }

}  // namespace beck::redis
