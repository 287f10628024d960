// SPDX-License-Identifier: BSL-1.0
// Rotation, and the callback of OpenSSL: AES-256-CBC and HMAC-SHA-256, as RFC 5077 recommends.
#include "tls/ticket_store.hpp"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <beck/io/system_timer.hpp>

#include <cstring>
#include <system_error>

namespace beck::tls::detail {
namespace {

std::int64_t date_seconds() noexcept { return system_now().nanoseconds() / 1'000'000'000; }

int store_index() noexcept {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

bool fill(ticket_key& key) noexcept {
  return RAND_bytes(key.name, sizeof key.name) == 1 &&
         RAND_priv_bytes(key.mac, sizeof key.mac) == 1 &&
         RAND_priv_bytes(key.cipher, sizeof key.cipher) == 1;
}

bool set_mac(EVP_MAC_CTX* mac, ticket_key& key) noexcept {
  char digest[] = "SHA256";
  const OSSL_PARAM settings[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.mac, sizeof key.mac),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end(),
  };
  return EVP_MAC_CTX_set_params(mac, settings) == 1;
}

}  // namespace

ticket_store::ticket_store(std::int64_t rotation_seconds)
    : made_at_{date_seconds()}, rotation_seconds_(rotation_seconds) {
  static_assert(sizeof(ticket_key) == ticket_key::bytes);
  if (!fill(keys_[0]))
    throw std::system_error(make_error_code(std::errc::resource_unavailable_try_again),
                            "tls: no random bytes for the keys of tickets");
}

void ticket_store::set(const unsigned char* keys, std::size_t count) {
  const std::lock_guard guard(mutex_);
  for (std::size_t i = 0; i < count; ++i) keys_[i] = ticket_key(keys + i * ticket_key::bytes);
  count_ = count;
  is_fixed_ = true;
}

void ticket_store::apply_to(SSL_CTX* context) {
  SSL_CTX_set_ex_data(context, store_index(), this);
  SSL_CTX_set_tlsext_ticket_key_evp_cb(context, &on_ticket);
}

/// A date that was set back must not keep a key for ever: a key of the future is not current.
bool ticket_store::is_current(std::size_t index, std::int64_t now,
                              std::int64_t life) const noexcept {
  return now >= made_at_[index] && now - made_at_[index] < life;
}

/// Requires the lock. Drops keys that have lived for all their generations, also if no ticket was
/// made for so long that rotations were missed. Without random bytes the newest key stays.
void ticket_store::rotate_if_due() {
  const std::int64_t now = date_seconds();
  if (is_fixed_ || is_current(0, now, rotation_seconds_)) return;
  ticket_key next;
  if (!fill(next)) return;
  for (std::size_t i = generations - 1; i != 0; --i) {
    keys_[i] = keys_[i - 1];
    made_at_[i] = made_at_[i - 1];
  }
  keys_[0] = next;
  made_at_[0] = now;
  if (count_ < generations) ++count_;
  const auto life = static_cast<std::int64_t>(generations) * rotation_seconds_;
  while (count_ > 1 && !is_current(count_ - 1, now, life)) --count_;
}

void ticket_store::newest(ticket_key& to) {
  const std::lock_guard guard(mutex_);
  rotate_if_due();
  to = keys_[0];
}

int ticket_store::find(const unsigned char* name, ticket_key& to) {
  const std::lock_guard guard(mutex_);
  rotate_if_due();
  for (std::size_t i = 0; i < count_; ++i) {
    if (CRYPTO_memcmp(keys_[i].name, name, sizeof to.name) != 0) continue;
    to = keys_[i];
    return static_cast<int>(i);
  }
  return -1;
}

/// Called by OpenSSL: 1 means go on, 2 go on and renew the ticket, 0 no ticket, -1 a failure.
int ticket_store::on_ticket(SSL* ssl, unsigned char* name, unsigned char* iv,
                            EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, int encrypts) {
  auto* self = static_cast<ticket_store*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), store_index()));
  if (self == nullptr) return 0;
  ticket_key key;
  int age = 0;
  if (encrypts == 1) {
    self->newest(key);
    std::memcpy(name, key.name, sizeof key.name);
    const int iv_bytes = EVP_CIPHER_get_iv_length(EVP_aes_256_cbc());
    if (RAND_bytes(iv, iv_bytes) != 1) return -1;
  } else {
    age = self->find(name, key);
    if (age < 0) return 0;
  }
  if (EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key.cipher, iv, encrypts) != 1)
    return -1;
  if (!set_mac(mac, key)) return -1;
  // A client of TLS 1.3 uses a ticket once: without a new one the next connection would not be
  // resumed.
  return age == 0 && SSL_version(ssl) != TLS1_3_VERSION ? 1 : 2;
}

}  // namespace beck::tls::detail
