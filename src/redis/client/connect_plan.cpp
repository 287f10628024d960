// SPDX-License-Identifier: BSL-1.0
// The sentinels are asked before each connection; so is the program for its login.
#include "redis/client/connect_plan.hpp"

#include <utility>

#include <beck/net/connect_stream.hpp>
#include <beck/net/local.hpp>
#include <beck/net/socket_stream.hpp>

#include "redis/client/link.hpp"

namespace beck::redis::detail {
namespace {

constexpr std::int64_t pause_first = 50'000'000;  // nanoseconds, doubling
constexpr std::int64_t pause_most = 5'000'000'000;

/// Returns whether sentinels that answer so will do so again.
bool is_lasting(const error_code& ec) noexcept {
  return ec == error::unknown_primary || ec == error::noauth || ec == error::wrongpass ||
         ec == error::noperm;
}

}  // namespace

connect_plan::connect_plan(const any_io_executor& executor, const client_options& how,
                           server_url to, shared<sentinels> by, link& user)
    : executor_(executor), bounds_(how), to_(std::move(to)), sentinels_(std::move(by)) {
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
      hello_(home.hello_) {
  place_.of = &user;
}

void connect_plan::secure(stream_layer& with) noexcept {
  layer_ = &with;
  if (sentinels_) sentinels_->secure(with);
}

// --- attempts

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

task<io_result<owned_stream>> connect_plan::open() {
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

void connect_plan::put_off(std::int64_t now) noexcept {
  std::int64_t most = pause_first << (failures_ < 7 ? failures_ : 7);
  if (most > pause_most) most = pause_most;
  ++failures_;
  const std::uint64_t part = random_of(executor_) % static_cast<std::uint64_t>(most);
  next_at_ = now + static_cast<std::int64_t>(part);
}

void connect_plan::refuse(bool is_final, std::string text) noexcept {
  is_refused_ = is_final;
  text_ = std::move(text);
}

void connect_plan::end_attempt() noexcept {
  was_refused_ = std::exchange(is_refused_, false);
  last_text_ = std::exchange(text_, std::string());
}

// --- the greeting

bool connect_plan::asks_again(bool may_do_without) noexcept {
  if (hello_ != hello_state::suspected) return false;
  // If it does not answer now, it is HELLO. Subscriptions cannot do without.
  if (may_do_without) hello_ = hello_state::ends;
  return true;
}

void connect_plan::note_end(bool was_ready, bool was_cut) noexcept {
  if (was_ready && hello_ == hello_state::ends) hello_ = hello_state::suspected;
  if (was_cut && hello_ == hello_state::usual) hello_ = hello_state::suspected;
}

}  // namespace beck::redis::detail
