// SPDX-License-Identifier: BSL-1.0
// The sentinels are asked before each connection; so is the program for its login.
#include "redis/client/connect_plan.hpp"

#include <new>
#include <system_error>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/within.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/connect_stream.hpp>
#include <beck/net/local.hpp>
#include <beck/net/socket_stream.hpp>

#include "redis/client/link.hpp"

namespace beck::redis::detail {
namespace {

constexpr std::int64_t pause_first = 50'000'000;  // nanoseconds, doubling
constexpr std::int64_t pause_most = 5'000'000'000;
constexpr std::int64_t leave_pause = 1'000'000'000;  // between two replicas that are left

/// Returns whether sentinels that answer so will do so again.
bool is_lasting(const error_code& ec) noexcept {
  return ec == error::unknown_primary || ec == error::noauth || ec == error::wrongpass ||
         ec == error::noperm;
}

}  // namespace

connect_plan::connect_plan(const any_io_executor& executor, const client_options& how,
                           server_url to, shared<sentinels> by, link& user, bool may_leave)
    : executor_(executor),
      bounds_(how),
      to_(std::move(to)),
      sentinels_(std::move(by)),
      leave_at_(to_.must_be_primary || may_leave ? INT64_MIN : INT64_MAX) {
  BECK_ASSERT(!sentinels_ || to_.must_be_primary,
              "a server that sentinels name is not asked whether it is the primary");
  place_.of = &user;
}

connect_plan::connect_plan(const connect_plan& home, const client_options& how, link& user)
    : executor_(home.executor_),
      bounds_(how),
      to_(home.to_),
      sentinels_(home.sentinels_ ? shared<sentinels>(*home.sentinels_)
                                 : shared<sentinels>(nullptr)),
      layer_(home.layer_),
      connector_(home.connector_),
      credentials_(home.credentials_),
      leave_at_(to_.must_be_primary ? INT64_MIN : INT64_MAX) {
  place_.of = &user;
}

void connect_plan::secure(stream_layer& with) noexcept {
  layer_ = &with;
  if (sentinels_) sentinels_->secure(with);
}

void connect_plan::note_replica(std::int64_t now) noexcept {
  BECK_ASSERT(leaves_replicas(now), "a replica is left that is not to be left");
  if (!to_.must_be_primary) leave_at_ = now + leave_pause;
}

// --- attempts

bool connect_plan::is_pausing() const noexcept { return next_at_ > time_of(executor_); }

/// Returns the token of an attempt or pause that begins.
stop_token connect_plan::fresh_token() {
  if (stopping_.stop_requested()) stopping_ = stop_source();
  return stopping_.get_token();
}

task<> connect_plan::pause() {
  steady_timer timer(executor_, duration(next_at_ - beck::detail::loop_time()));
  beck::ignore(co_await with_stop(fresh_token(), timer.async_wait()));
}

task<io_result<owned_stream>> connect_plan::open() {
  BECK_ASSERT(!is_pausing(), "an attempt to connect begins before its time");
  io_result<owned_stream> result;
  try {
    auto opening = timeout(make_stream(), bounds_.connect_timeout);
    result = co_await with_stop(fresh_token(), std::move(opening));
  } catch (...) {
    result.error_ = beck::detail::caught_code();
    if (!result.error_) throw;
  }
  co_return result;
}

/// Asks the sentinels where the primary is.
task<error_code> connect_plan::find_primary() {
  leads_to_ = node_address();
  auto finding = sentinels_->find();
  auto found = co_await std::move(finding);
  if (found.error()) {
    refuse(is_lasting(found.error()), sentinels_->error_text());
  } else {
    leads_to_ = std::move(found.value_);
  }
  co_return found.error();
}

/// Asks the program for the login of the next connection.
task<error_code> connect_plan::find_login() {
  auto asking = credentials_->next(executor_);
  const auto asked = co_await std::move(asking);
  if (!asked.error()) {
    to_.user = (*asked).user();
    to_.password = (*asked).password();
  }
  co_return asked.error();
}

task<io_result<owned_stream>> connect_plan::make_stream() {
  io_result<owned_stream> result;
  if (credentials_ != nullptr) {
    result.error_ = co_await find_login();
    if (result.error_) co_return result;
  }
  if (connector_ != nullptr) {
    auto connecting = connector_->connect(executor_);
    result = co_await std::move(connecting);
    co_return result;
  }
  if (to_.is_secure && layer_ == nullptr) {
    result.error_ = make_error_code(std::errc::protocol_not_supported);
    co_return result;
  }
  if (sentinels_) {
    result.error_ = co_await find_primary();
    if (result.error_) co_return result;
  }
  const std::string& host = sentinels_ ? leads_to_.host : to_.host;
  if (to_.path.empty()) {
    const std::uint16_t port = sentinels_ ? leads_to_.port : to_.port;
    auto connecting = ip::connect_stream(executor_, host, port);
    result = co_await std::move(connecting);
  } else {
    local::stream_protocol::socket socket(executor_);
    const local::stream_protocol::endpoint at(to_.path);
    auto connected = co_await socket.async_connect(at);
    result.error_ = connected.error();
    if (!result.error_) result.value_ = owned_stream(new socket_stream(std::move(socket)));
  }
  if (!result.error() && to_.is_secure) {
    auto secured = layer_->connect(std::move(result.value_), host);
    result = co_await std::move(secured);
  }
  co_return result;
}

void connect_plan::hurry() noexcept {
  next_at_ = 0;
  stop();
}

void connect_plan::put_off() noexcept {
  std::int64_t most = pause_first << (failures_ < 7 ? failures_ : 7);
  if (most > pause_most) most = pause_most;
  ++failures_;
  const std::uint64_t part = random_of(executor_) % static_cast<std::uint64_t>(most);
  next_at_ = time_of(executor_) + static_cast<std::int64_t>(part);
}

void connect_plan::refuse(bool is_final, std::string text) noexcept {
  is_refused_ = is_final;
  text_ = std::move(text);
}

void connect_plan::end_attempt(const error_code& cause) noexcept {
  BECK_ASSERT(static_cast<bool>(cause), "an attempt to connect ends without a reason");
  last_cause_ = cause;
  was_refused_ = std::exchange(is_refused_, false);
  last_text_ = std::exchange(text_, std::string());
}

}  // namespace beck::redis::detail
