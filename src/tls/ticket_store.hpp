// SPDX-License-Identifier: BSL-1.0
// Resumption. A server has keys that encrypt session tickets: a few generations, rotated by time or
// set by the program (RFC 5077, sections 4 and 5.5). A client has sessions: a few for each name,
// the newest first, and a bound for their total.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tls/openssl.hpp"

namespace beck::tls::detail {

/// One generation: the name at the beginning of a ticket, and the keys. Wiped when it is destroyed.
/// An object always has keys: if they were predictable, any peer could forge a ticket.
struct ticket_key {
  static constexpr std::size_t bytes = 80;

  /// Returns random keys; no keys without random bytes.
  static std::optional<ticket_key> random() noexcept;
  /// Copies a name and two keys, in this order.
  explicit ticket_key(const unsigned char* from) noexcept {
    std::memcpy(name, from, sizeof name);
    std::memcpy(mac, from + sizeof name, sizeof mac);
    std::memcpy(cipher, from + sizeof name + sizeof mac, sizeof cipher);
  }
  ticket_key(const ticket_key&) noexcept = default;
  ticket_key& operator=(const ticket_key&) noexcept = default;
  ~ticket_key() { OPENSSL_cleanse(this, sizeof *this); }

  bool has(const unsigned char* other) const noexcept {
    return CRYPTO_memcmp(name, other, sizeof name) == 0;
  }

  unsigned char name[16];
  unsigned char mac[32];
  unsigned char cipher[32];
};

/// Generations of keys, the newest first: the newest one encrypts, all of them decrypt. A ticket of
/// an older generation is replaced by a new ticket.
/// Thread: any.
class ticket_store {
 public:
  static constexpr std::size_t generations = 3;

  /// Makes a store with a random key. When the newest key is `rotation_seconds` old, the next
  /// ticket gets a new one. Throws std::system_error without random bytes.
  explicit ticket_store(std::int64_t rotation_seconds);
  ticket_store(const ticket_store&) = delete;
  ticket_store& operator=(const ticket_store&) = delete;

  /// Replaces all generations by `count` keys, each of ticket_key::bytes, the newest first, and
  /// stops the rotation. Requires 1 to `generations`.
  void set(const unsigned char* keys, std::size_t count);

  /// Makes the context encrypt its tickets with these keys. The store must outlive the context and
  /// its connections.
  void apply_to(SSL_CTX* context);

  /// Returns the key that encrypts now.
  ticket_key newest();
  /// Calls `use(key, age)` with the key of this name and its age in generations, and returns its
  /// result; `otherwise` if there is no such key.
  template <class Use>
  int with_key(const unsigned char* name, int otherwise, Use&& use) {
    std::unique_lock lock(mutex_);
    rotate_if_due();
    for (std::size_t age = 0; age < kept_.size(); ++age) {
      if (!kept_[age].key.has(name)) continue;
      const ticket_key key = kept_[age].key;
      lock.unlock();
      return use(key, age);
    }
    return otherwise;
  }
  std::int64_t rotation_seconds() const noexcept { return rotation_seconds_; }

 private:
  static int on_ticket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                       EVP_MAC_CTX* mac, int encrypts);
  struct generation {
    ticket_key key;
    std::int64_t made_at;  ///< the date in seconds

    /// Returns whether a key is current. A key from the future is not: a date that was set back
    /// must not keep it for ever.
    bool is_current(std::int64_t now, std::int64_t life) const noexcept {
      return now >= made_at && now - made_at < life;
    }
  };

  void rotate_if_due();

  std::mutex mutex_;
  std::vector<generation> kept_;  ///< the newest first; never empty
  const std::int64_t rotation_seconds_;
  bool is_fixed_ = false;
};

/// The data of a ticket_keys.
struct ticket_share {
  std::shared_ptr<ticket_store> store;
};

/// The sessions of a client. Thread: any.
class session_cache {
 public:
  static constexpr std::size_t sessions_max = 512;
  static constexpr std::size_t per_name_max = 4;

  /// Makes connections of the context store their sessions here. The cache must outlive the context
  /// and its connections.
  void apply_to(SSL_CTX* context);
  /// Makes `ssl` ask to resume a session of the name that it expects, if there is one. A session of
  /// TLS 1.3 is used once: if it were used twice, an observer could see that the two connections
  /// belong to one client (RFC 8446, appendix C.4).
  void offer(SSL* ssl);
  /// Stores a session of a connection that has verified its peer as `name`.
  void add(std::string name, session_ptr session);
  std::size_t size() const noexcept;

 private:
  struct kept {
    std::string name;
    session_ptr session;
  };

  static int on_session(SSL* ssl, SSL_SESSION* session);
  session_ptr take(std::string_view name);

  mutable std::mutex mutex_;
  std::list<kept> sessions_;  ///< the newest first
};

}  // namespace beck::tls::detail
