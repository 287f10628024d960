// SPDX-License-Identifier: BSL-1.0
// The settings of servers. A generation has the files loaded at one time: a context of OpenSSL for
// each identity, and the table of their names. Connections keep their generation; reload() makes
// the next one.
#include <beck/base/assert.hpp>
#include <beck/io/system_timer.hpp>

#include <algorithm>
#include <deque>
#include <new>
#include <optional>

#include "tls/contexts.hpp"
#include "tls/failure.hpp"
#include "tls/identity.hpp"
#include "tls/ticket_store.hpp"

namespace beck::tls::detail {
namespace {

constexpr std::size_t names_max = 10'000;  // of one certificate

/// Returns the scope of tickets: a session is not resumed by an identity with other names, or by a
/// server that trusts other clients or has another rule for them (`clients`). A renewed certificate
/// with the same names keeps its sessions.
key_hash session_scope(const X509& certificate, std::string_view clients) {
  std::string all(clients);
  for (const std::string& name : names_of(certificate, names_max)) all.append(name).append("\n");
  return hash_of(all.data(), all.size());
}

/// Returns the protocols, given in ALPN's form, with commas between them.
std::string readable(std::string_view wire) {
  std::string text;
  while (!wire.empty()) {
    const auto bytes = std::min<std::size_t>(static_cast<unsigned char>(wire[0]), wire.size() - 1);
    text.append(text.empty() ? "" : ", ").append(printable(wire.substr(1, bytes), 40));
    wire.remove_prefix(bytes + 1);
    if (text.size() > 200) return text + ", ...";
  }
  return text;
}

/// Called by OpenSSL for a decrypted ticket. An expired certificate of a client must not stay valid
/// through its sessions.
SSL_TICKET_RETURN on_resumption(SSL*, SSL_SESSION* session, const unsigned char*, std::size_t,
                                SSL_TICKET_STATUS status, void*) {
  const bool renews = status == SSL_TICKET_SUCCESS_RENEW;
  if (status != SSL_TICKET_SUCCESS && !renews) return SSL_TICKET_RETURN_IGNORE_RENEW;
  const X509* client = SSL_SESSION_get0_peer(session);
  const std::int64_t now = system_now().nanoseconds() / 1'000'000'000;
  if (client != nullptr && seconds_of(X509_get0_notAfter(client)) < now)
    return SSL_TICKET_RETURN_IGNORE_RENEW;
  return renews ? SSL_TICKET_RETURN_USE_RENEW : SSL_TICKET_RETURN_USE;
}

}  // namespace

class server_generation {
 public:
  explicit server_generation(const server_settings& settings)
      : protocols_(settings.protocols), tickets_(settings.tickets) {
    BECK_ASSERT(!settings.identities.empty(), "a server without an identity");
    load(settings);
  }
  server_generation(const server_generation&) = delete;
  server_generation& operator=(const server_generation&) = delete;

  SSL_CTX* context() const noexcept { return served_.front().context.get(); }
  std::int64_t end() const noexcept { return end_; }

 private:
  /// An identity and the context that presents it.
  struct served {
    identity who;
    ssl_ctx_ptr context;
  };

  void load(const server_settings& settings) {
    const error_queue queue;
    if (settings.asks_clients) clients_.emplace(settings.clients);
    end_ = INT64_MAX;
    for (const identity_source& from : settings.identities) {
      served& one = served_.emplace_back();
      one.who = load_identity(from);
      one.context = make_context(TLS_server_method(), settings);
      present(one.context.get(), one.who, from);
      set_up(one, settings);
      end_ = std::min(end_, end_of(one.who));
      for (const std::string& name : names_of(*one.who.leaf, names_max))
        names_.add(name, served_.size() - 1);
    }
  }

  void set_up(served& one, const server_settings& settings) {
    SSL_CTX* const c = one.context.get();
    SSL_CTX_set_client_hello_cb(c, &on_hello, this);
    if (!settings.protocols.empty()) SSL_CTX_set_alpn_select_cb(c, &on_protocols, this);
    if (!one.who.ocsp.empty()) set_status_callback(c, &on_status, &one);
    if (settings.resumes) {
      BECK_ASSERT(tickets_ != nullptr, "a server without keys for its tickets");
      tickets_->apply_to(c);
      SSL_CTX_set_timeout(c, static_cast<long>(2 * tickets_->rotation_seconds()));
      SSL_CTX_set_session_ticket_cb(c, nullptr, &on_resumption, nullptr);
    }
    std::string clients = "none";
    if (clients_) {
      const key_hash trusted = clients_->fingerprint();
      clients = settings.demands_clients ? "demanded" : "asked";
      clients.append(reinterpret_cast<const char*>(trusted.data()), trusted.size());
      clients_->apply_to(c);
      SSL_CTX_set_client_CA_list(c, clients_->root_names());
      SSL_CTX_set_verify(
          c,
          SSL_VERIFY_PEER |
              (settings.demands_clients ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : SSL_VERIFY_NONE),
          nullptr);
    }
    const key_hash scope = session_scope(*one.who.leaf, clients);
    SSL_CTX_set_session_id_context(c, scope.data(), static_cast<unsigned>(scope.size()));
  }

  static int on_hello(SSL* ssl, int* alert, void* self);
  static int on_protocols(SSL* ssl, const unsigned char** chosen, unsigned char* chosen_bytes,
                          const unsigned char* offered, unsigned offered_bytes, void* self);
  static int on_status(SSL* ssl, void* one);

  std::string protocols_;
  std::shared_ptr<ticket_store> tickets_;
  std::optional<trust> clients_;
  std::deque<served> served_;  ///< does not move: callbacks point to it
  name_table names_;
  std::int64_t end_ = 0;
};

/// Called by OpenSSL at the beginning of a handshake: selects the requested identity first, because
/// the session of a ticket has to belong to it.
int server_generation::on_hello(SSL* ssl, int* alert, void* self) {
  const auto* all = static_cast<const server_generation*>(self);
  const unsigned char* extension = nullptr;
  std::size_t bytes = 0;
  if (all->served_.size() == 1 ||
      SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &extension, &bytes) != 1)
    return SSL_CLIENT_HELLO_SUCCESS;
  try {
    const std::size_t index = all->names_.find(server_name_in(extension, bytes));
    if (index == name_table::none || index == 0) return SSL_CLIENT_HELLO_SUCCESS;
    BECK_ASSERT(index < all->served_.size(), "a name of an identity that is not there");
    if (SSL_set_SSL_CTX(ssl, all->served_[index].context.get()) != nullptr)
      return SSL_CLIENT_HELLO_SUCCESS;
  } catch (const std::exception&) {  // no memory
  }
  *alert = SSL_AD_INTERNAL_ERROR;
  return SSL_CLIENT_HELLO_ERROR;
}

int server_generation::on_protocols(SSL* ssl, const unsigned char** chosen,
                                    unsigned char* chosen_bytes, const unsigned char* offered,
                                    unsigned offered_bytes, void* self) {
  const std::string& mine = static_cast<const server_generation*>(self)->protocols_;
  unsigned char* out = nullptr;
  const auto* own = reinterpret_cast<const unsigned char*>(mine.data());
  if (SSL_select_next_proto(&out, chosen_bytes, own, static_cast<unsigned>(mine.size()), offered,
                            offered_bytes) == OPENSSL_NPN_NEGOTIATED) {
    *chosen = out;
    return SSL_TLSEXT_ERR_OK;
  }
  try {
    const std::string_view theirs(reinterpret_cast<const char*>(offered), offered_bytes);
    if (connection_notes* notes = notes_of(ssl))
      notes->peer.found = {error::no_shared_protocol, "The client offers the protocols " +
                                                          readable(theirs) + ", this server " +
                                                          readable(mine)};
  } catch (const std::exception&) {  // no memory: the code is enough
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

int server_generation::on_status(SSL* ssl, void* one) {
  const identity& who = static_cast<const served*>(one)->who;
  if (who.ocsp_end < system_now().nanoseconds() / 1'000'000'000) return SSL_TLSEXT_ERR_NOACK;
  void* copy = OPENSSL_memdup(who.ocsp.data(), who.ocsp.size());
  if (copy == nullptr) return SSL_TLSEXT_ERR_NOACK;
  SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_STATUS_REQ_OCSP_RESP, static_cast<long>(who.ocsp.size()), copy);
  return SSL_TLSEXT_ERR_OK;
}

server_state::server_state(server_settings settings)
    : settings_(std::move(settings)), generation_(std::make_shared<server_generation>(settings_)) {}

std::shared_ptr<const server_generation> server_state::now() const {
  const std::lock_guard lock(mutex_);
  return generation_;
}

ssl_ptr server_state::make_session() const {
  std::shared_ptr<const server_generation> generation = now();
  const error_queue queue;
  ssl_ptr made(SSL_new(generation->context()));
  if (!made) throw std::bad_alloc();
  SSL_set_accept_state(made.get());
  attach_notes(made.get(), std::move(generation));
  return made;
}

void server_state::reload() {
  std::shared_ptr<const server_generation> made = std::make_shared<server_generation>(settings_);
  const std::lock_guard lock(mutex_);
  generation_.swap(made);
}

std::int64_t server_state::end() const { return now()->end(); }

}  // namespace beck::tls::detail
