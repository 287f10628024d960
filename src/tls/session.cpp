// SPDX-License-Identifier: BSL-1.0
// The beginning and the end of a session: its handshake, and its close.
#include "tls/session.hpp"

#include <stdexcept>

namespace beck::tls::detail {
namespace {

/// Returns whether the output of the call that ended the handshake is tickets alone, for which no
/// peer waits. A client of TLS 1.2 may wait for the server's last message.
bool has_only_tickets(SSL* of) noexcept {
  return SSL_is_server(of) == 1 && SSL_version(of) == TLS1_3_VERSION;
}

}  // namespace

session::session(owned_stream transport, ssl_ptr prepared)
    : executor_(transport->get_executor()),
      transport_(std::move(transport)),
      engine_(std::move(prepared)),
      input_(*this),
      output_(*this) {
  if (executor_.table()->concurrent)
    throw std::logic_error("tls: a stream needs a context for one thread");
}

beck::detail::fixed_text<100> session::peer_name() const {
  const X509* const certificate = SSL_get0_peer_certificate(engine_.ssl());
  beck::detail::fixed_text<100> name;
  if (certificate != nullptr) name.append(subject_of(*certificate));
  return name;
}

std::string_view session::protocol() const noexcept {
  const unsigned char* name = nullptr;
  unsigned bytes = 0;
  SSL_get0_alpn_selected(engine_.ssl(), &name, &bytes);
  return {reinterpret_cast<const char*>(name), bytes};
}

stream_security session::security() const noexcept {
  const SSL* const ssl = engine_.ssl();
  const char* const name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  return {SSL_get_version(ssl), SSL_get_cipher_name(ssl), protocol(),
          name != nullptr ? std::string_view(name) : std::string_view(),
          SSL_session_reused(ssl) == 1};
}

/// Continues the handshake. Bytes that follow it are decrypted at once: the answer to them is near,
/// and takes the tickets along in its packet.
void session::shake(const_buffer received) noexcept {
  engine_.give(static_cast<const char*>(received.data()), received.size());
  {
    const record_output::step now(output_);
    now->shake();
    if (engine_.state() == engine_state::open && engine_.has_input() &&
        has_only_tickets(engine_.ssl()))
      output_.hold_back();
  }
  if (engine_.state() == engine_state::open && engine_.has_input())
    input_.decrypt_ahead(received.size());
}

/// Returns whether output was lost that the peer waits for. Other errors of sending reach the
/// handshake by the transport's receive, too, after the alert that may explain them.
bool session::has_lost_output() const noexcept {
  return output_.error() == std::errc::not_enough_memory;
}

void session::take_output_error() noexcept {
  error_code ignored;
  if (shaking_ && has_lost_output()) transport_->socket().cancel(ignored);
}

task<error_code> session::exchange_messages() {
  if (SSL_is_server(engine_.ssl()) == 0) shake({});  // a server has nothing to say yet
  while (engine_.state() == engine_state::shaking) {
    if (has_lost_output()) co_return output_.error();
    auto got = co_await transport_->receive();
    if (has_lost_output()) co_return output_.error();
    if (got.error() == beck::error::eof) {
      engine_.fail(error::truncated, "the peer ended the connection during the handshake");
    } else if (got.error()) {
      co_return got.error();
    } else {
      shake(got.value_);
    }
  }
  if (engine_.state() == engine_state::failed) co_return engine_.error();
  co_return error_code();
}

task<error_code> session::handshake(session_ref self) {
  session& s = *self;
  while (s.engine_.state() == engine_state::shaking && !s.handshake_error_) {
    if (s.shaking_) {
      auto waited = co_await s.shaken_.wait();
      if (waited.error()) co_return waited.error();
      continue;
    }
    s.shaking_ = true;
    error_code ec;
    try {
      ec = co_await s.exchange_messages();
    } catch (...) {
      ec = make_error_code(std::errc::not_enough_memory);
    }
    BECK_ASSERT(ec || s.is_open(), "a handshake succeeded, and the connection is not open");
    s.shaking_ = false;
    if (!is_passing(ec)) s.handshake_error_ = ec;
    s.shaken_.set();  // another operation may continue a handshake that was cancelled here
    s.shaken_.reset();
    if (ec) co_return ec;
  }
  co_return s.handshake_error_;
}

void session::close(bool says_end) noexcept {
  error_code ignored;
  output_.end(says_end && !output_.is_sending());
  transport_->socket().close(ignored);
}

task<io_result<owned_stream>> shake_hands(owned_stream transport, ssl_ptr prepared) {
  const session_ref made(new session(std::move(transport), std::move(prepared)));
  io_result<owned_stream> result;
  result.value_ = owned_stream(new secure_stream(made));
  result.error_ = co_await session::handshake(made);
  if (result.error_) made->close(false);
  co_return result;
}

}  // namespace beck::tls::detail
