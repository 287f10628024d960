// SPDX-License-Identifier: BSL-1.0
// The settings common to all connections, those of clients, and the notes of a connection, which
// OpenSSL frees with its SSL as "external data".
#include "tls/contexts.hpp"

#include <new>
#include <stdexcept>

#include <beck/base/assert.hpp>

#include "tls/failure.hpp"
#include "tls/ticket_store.hpp"

namespace beck::tls::detail {
namespace {

void free_notes(void*, void* notes, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<connection_notes*>(notes);
}

int notes_index() noexcept {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, &free_notes);
  return index;
}

}  // namespace

connection_notes& attach_notes(SSL* ssl, std::shared_ptr<const void> settings) {
  BECK_ASSERT(notes_of(ssl) == nullptr, "a connection of TLS got notes twice");
  auto made = std::make_unique<connection_notes>();
  made->settings = std::move(settings);
  if (SSL_set_ex_data(ssl, notes_index(), made.get()) != 1) throw std::bad_alloc();
  return *made.release();
}

connection_notes* notes_of(const SSL* ssl) noexcept {
  return static_cast<connection_notes*>(SSL_get_ex_data(ssl, notes_index()));
}

void set_status_callback(SSL_CTX* context, int (*callback)(SSL*, void*), void* argument) noexcept {
  using any_function = void (*)();
  SSL_CTX_callback_ctrl(context, SSL_CTRL_SET_TLSEXT_STATUS_REQ_CB,
                        reinterpret_cast<any_function>(callback));
  SSL_CTX_ctrl(context, SSL_CTRL_SET_TLSEXT_STATUS_REQ_CB_ARG, 0, argument);
}

ssl_ctx_ptr make_context(const SSL_METHOD* method, const common_settings& settings) {
  // TLS 1.2 with forward secrecy and authenticated ciphers only; all ciphers of 1.3 are of this
  // kind.
  constexpr const char* ciphers_1_2 = "ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL";
  constexpr int security_level = 2;  // 112 bits: RSA 2048, P-224, SHA-224
  char groups[] = "X25519:P-256:P-384";
  BECK_ASSERT(settings.version_min <= settings.version_max, "no version of TLS is allowed");
  const error_queue queue;
  ssl_ctx_ptr made(SSL_CTX_new(method));
  if (!made) throw std::bad_alloc();
  SSL_CTX* const c = made.get();
  SSL_CTX_ctrl(c, SSL_CTRL_SET_MIN_PROTO_VERSION, settings.version_min, nullptr);
  SSL_CTX_ctrl(c, SSL_CTRL_SET_MAX_PROTO_VERSION, settings.version_max, nullptr);
  SSL_CTX_set_security_level(c, security_level);
  if (SSL_CTX_set_cipher_list(c, ciphers_1_2) != 1 ||
      SSL_CTX_ctrl(c, SSL_CTRL_SET_GROUPS_LIST, 0, groups) != 1)
    throw std::bad_alloc();
  SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                             SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_clear_options(c, SSL_OP_ENABLE_KTLS | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  if (!settings.resumes) SSL_CTX_set_options(c, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(c, settings.resumes ? 1 : 0);
  SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                          SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_NO_AUTO_CHAIN);
  log_keys_if_asked(c);
  return made;
}

/// The files that a client has loaded at one time, and the sessions verified with them. A ticket
/// that an older connection receives after a reload must not count as a check with the new files.
class client_generation {
 public:
  explicit client_generation(const client_settings& settings)
      : trust_(settings.trust, settings.pins, settings.demands_ocsp),
        context_(make_context(TLS_client_method(), settings)) {
    const error_queue queue;
    SSL_CTX* const c = context_.get();
    trust_.apply_to(c);
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER, nullptr);
    if (settings.resumes) sessions_.apply_to(c);
    if (!settings.identity.chain.empty())
      present(c, load_identity(settings.identity), settings.identity);
    const auto* names = reinterpret_cast<const unsigned char*>(settings.protocols.data());
    if (!settings.protocols.empty() &&
        SSL_CTX_set_alpn_protos(c, names, static_cast<unsigned>(settings.protocols.size())) != 0)
      throw std::bad_alloc();
  }

  SSL_CTX* context() const noexcept { return context_.get(); }
  session_cache& sessions() noexcept { return sessions_; }

 private:
  session_cache sessions_;
  trust trust_;
  ssl_ctx_ptr context_;
};

client_state::client_state(client_settings settings)
    : settings_(std::move(settings)), generation_(std::make_shared<client_generation>(settings_)) {}

ssl_ptr client_state::make_session(std::string_view name) {
  std::shared_ptr<client_generation> generation;
  {
    const std::lock_guard lock(mutex_);
    generation = generation_;
  }
  const error_queue queue;
  ssl_ptr made(SSL_new(generation->context()));
  if (!made) throw std::bad_alloc();
  SSL_set_connect_state(made.get());
  peer_check& peer = attach_notes(made.get(), generation).peer;
  peer.name = std::string(name);
  const error_code refused = expect(made.get(), peer);
  if (refused == std::errc::invalid_argument)
    throw std::invalid_argument("tls: \"" + printable(peer.name) +
                                "\" is neither a host name nor an address");
  if (refused) throw std::bad_alloc();
  generation->sessions().offer(made.get());
  return made;
}

void client_state::reload() {
  auto made = std::make_shared<client_generation>(settings_);
  const std::lock_guard lock(mutex_);
  generation_.swap(made);
}

}  // namespace beck::tls::detail
