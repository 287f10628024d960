// SPDX-License-Identifier: BSL-1.0
// Keeps sessions by the name that was verified when they were made. A session is not offered if it
// or the certificate of its server has expired since then.
#include "tls/ticket_store.hpp"

#include <beck/base/assert.hpp>
#include <beck/io/system_timer.hpp>

#include <exception>

#include "tls/failure.hpp"

namespace beck::tls::detail {
namespace {

int cache_index() noexcept {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

/// Returns the name that the connection expects of its peer, or the address in its one usual form.
/// OpenSSL keeps it also after the handshake, when tickets come.
std::string expected_name(SSL* ssl) {
  X509_VERIFY_PARAM* const rules = SSL_get0_param(ssl);
  if (const char* host = X509_VERIFY_PARAM_get0_host(rules, 0)) return host;
  char* address = X509_VERIFY_PARAM_get1_ip_asc(rules);
  std::string name = address != nullptr ? address : "";
  OPENSSL_free(address);
  return name;
}

/// Returns whether a session may be resumed: neither it nor the certificate has expired.
bool is_current(const SSL_SESSION& session) noexcept {
  const std::int64_t now = system_now().nanoseconds() / 1'000'000'000;
  const X509* peer = SSL_SESSION_get0_peer(const_cast<SSL_SESSION*>(&session));
  const std::int64_t end = SSL_SESSION_get_time(&session) + SSL_SESSION_get_timeout(&session);
  return SSL_SESSION_is_resumable(&session) == 1 && peer != nullptr && now < end &&
         seconds_of(X509_get0_notAfter(peer)) >= now;
}

}  // namespace

void session_cache::apply_to(SSL_CTX* context) {
  SSL_CTX_set_ex_data(context, cache_index(), this);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(context, &on_session);
}

/// Called by OpenSSL, which keeps its session if the result is 0. The cache has a copy: OpenSSL
/// makes a session of TLS 1.2 unusable when its connection ends without a close_notify of this
/// side.
int session_cache::on_session(SSL* ssl, SSL_SESSION* session) {
  auto* self =
      static_cast<session_cache*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), cache_index()));
  if (self == nullptr) return 0;
  session_ptr copy(SSL_SESSION_dup(session));
  if (copy == nullptr) return 0;
  try {
    self->add(expected_name(ssl), std::move(copy));
  } catch (const std::exception&) {  // no memory: the next connection makes a whole handshake
  }
  return 0;
}

void session_cache::offer(SSL* ssl) {
  const session_ptr session = take(expected_name(ssl));
  if (session != nullptr) SSL_set_session(ssl, session.get());
}

void session_cache::add(std::string name, session_ptr session) {
  BECK_ASSERT(session != nullptr, "an empty session of TLS was kept");
  if (name.empty()) return;
  std::list<kept> made;
  made.push_front({std::move(name), std::move(session)});
  const std::lock_guard lock(mutex_);
  sessions_.splice(sessions_.begin(), made);
  const std::string& added = sessions_.front().name;
  std::size_t same = 0;
  for (auto at = sessions_.begin(); at != sessions_.end();) {
    if (at->name == added && ++same > per_name_max) {
      at = sessions_.erase(at);
    } else {
      ++at;
    }
  }
  if (sessions_.size() > sessions_max) sessions_.pop_back();
  BECK_ASSERT(sessions_.size() <= sessions_max, "a client keeps too many sessions of TLS");
}

session_ptr session_cache::take(std::string_view name) {
  const std::lock_guard lock(mutex_);
  for (auto at = sessions_.begin(); at != sessions_.end();) {
    if (at->name != name) {
      ++at;
      continue;
    }
    if (is_current(*at->session)) {
      const bool once = SSL_SESSION_get_protocol_version(at->session.get()) == TLS1_3_VERSION;
      if (!once) return session_ptr(SSL_SESSION_dup(at->session.get()));
      session_ptr taken = std::move(at->session);
      sessions_.erase(at);
      return taken;
    }
    at = sessions_.erase(at);
  }
  return nullptr;
}

std::size_t session_cache::size() const noexcept {
  const std::lock_guard lock(mutex_);
  return sessions_.size();
}

}  // namespace beck::tls::detail
