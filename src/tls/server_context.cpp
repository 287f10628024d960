// SPDX-License-Identifier: BSL-1.0
// The public classes of the two contexts, over their states.
#include <beck/tls/server_context.hpp>

#include <string>

#include <beck/tls/client_context.hpp>

#include "tls/contexts.hpp"
#include "tls/session.hpp"

namespace beck::tls {
namespace {

io_result<owned_stream> wrong_side() {
  return {make_error_code(std::errc::operation_not_supported), owned_stream()};
}

}  // namespace

server_context::server_context(beck::detail::text_view chain_file, beck::detail::text_view key_file)
    : state_(new detail::server_state(std::string(chain_file), std::string(key_file))) {}

server_context::~server_context() { delete state_; }

task<io_result<owned_stream>> server_context::accept(owned_stream carrier) {
  return detail::shake_hands(std::move(carrier), state_->make_session());
}

task<io_result<owned_stream>> server_context::connect(owned_stream, beck::detail::text_view) {
  co_return wrong_side();
}

client_context::client_context() : client_context(beck::detail::text_view()) {}

client_context::client_context(beck::detail::text_view roots_file)
    : state_(new detail::client_state(std::string(roots_file))) {}

client_context::~client_context() { delete state_; }

task<io_result<owned_stream>> client_context::connect(owned_stream carrier,
                                                      beck::detail::text_view name) {
  return detail::shake_hands(std::move(carrier), state_->make_session(name));
}

task<io_result<owned_stream>> client_context::accept(owned_stream) { co_return wrong_side(); }

}  // namespace beck::tls
