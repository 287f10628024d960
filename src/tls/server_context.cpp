// SPDX-License-Identifier: BSL-1.0
// The public classes of the two contexts, over their states.
#include <beck/tls/server_context.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

#include <beck/io/system_timer.hpp>
#include <beck/tls/client_context.hpp>

#include "tls/contexts.hpp"
#include "tls/session.hpp"
#include "tls/ticket_store.hpp"

namespace beck::tls {
namespace {

io_result<owned_stream> wrong_side() {
  return {make_error_code(std::errc::operation_not_supported), owned_stream()};
}

task<io_result<owned_stream>> refused_name() {
  co_return io_result<owned_stream>(make_error_code(std::errc::invalid_argument), owned_stream());
}

}  // namespace

server_context::server_context(std::string_view chain_file, std::string_view key_file,
                               const server_options& options) {
  detail::server_settings settings = options.settings();
  settings.identities.front().chain = std::string(chain_file);
  settings.identities.front().key = std::string(key_file);
  if (settings.tickets == nullptr) settings.tickets = ticket_keys().share().store;
  state_ = new detail::server_state(std::move(settings));
}

server_context::~server_context() { delete state_; }

void server_context::reload() { state_->reload(); }

duration server_context::expires_in() const {
  constexpr long long second = 1'000'000'000;
  const long long left = state_->end() - system_now().nanoseconds() / second;
  constexpr long long most = duration::max().nanoseconds() / second;
  return duration(std::clamp(left, -most, most) * second);
}

task<io_result<owned_stream>> server_context::accept(owned_stream transport) {
  return detail::shake_hands(std::move(transport), state_->make_session());
}

task<io_result<owned_stream>> server_context::connect(owned_stream, std::string_view) {
  co_return wrong_side();
}

client_context::client_context(const client_options& options)
    : state_(new detail::client_state(options.settings())) {}

client_context::client_context(std::string_view roots_file)
    : client_context(client_options().trust(authorities().file(roots_file))) {}

client_context::~client_context() { delete state_; }

void client_context::reload() { state_->reload(); }

task<io_result<owned_stream>> client_context::connect(owned_stream transport,
                                                      std::string_view name) {
  detail::ssl_ptr session;
  try {
    session = state_->make_session(name);
  } catch (const std::invalid_argument&) {
    return refused_name();
  }
  return detail::shake_hands(std::move(transport), std::move(session));
}

task<io_result<owned_stream>> client_context::accept(owned_stream) { co_return wrong_side(); }

}  // namespace beck::tls
