// SPDX-License-Identifier: BSL-1.0
// Rotation, and OpenSSL's callback: AES-256-CBC and HMAC-SHA-256, as RFC 5077 recommends.
#include "tls/ticket_store.hpp"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <beck/base/assert.hpp>
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

bool set_mac(EVP_MAC_CTX* mac, const ticket_key& key) noexcept {
  char digest[] = "SHA256";
  const OSSL_PARAM settings[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, const_cast<unsigned char*>(key.mac),
                                        sizeof key.mac),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end(),
  };
  return EVP_MAC_CTX_set_params(mac, settings) == 1;
}

}  // namespace

std::optional<ticket_key> ticket_key::random() noexcept {
  unsigned char all[bytes];
  constexpr int name_bytes = sizeof name;
  const bool filled = RAND_bytes(all, name_bytes) == 1 &&
                      RAND_priv_bytes(all + name_bytes, sizeof all - name_bytes) == 1;
  std::optional<ticket_key> made;
  if (filled) made.emplace(all);
  OPENSSL_cleanse(all, sizeof all);
  return made;
}

ticket_store::ticket_store(std::int64_t rotation_seconds) : rotation_seconds_(rotation_seconds) {
  static_assert(sizeof(ticket_key) == ticket_key::bytes);
  BECK_ASSERT(rotation_seconds > 0, "the keys of tickets are rotated after no time");
  const std::optional<ticket_key> first = ticket_key::random();
  if (!first)
    throw std::system_error(make_error_code(std::errc::resource_unavailable_try_again),
                            "tls: no random bytes for the keys of tickets");
  kept_.reserve(generations + 1);  // a growing vector would leave copies of keys in memory
  kept_.push_back({*first, date_seconds()});
}

void ticket_store::set(const unsigned char* keys, std::size_t count) {
  BECK_ASSERT(count >= 1 && count <= generations, "1 to 3 keys of tickets");
  const std::lock_guard lock(mutex_);
  kept_.clear();
  for (std::size_t i = 0; i < count; ++i)
    kept_.push_back({ticket_key(keys + i * ticket_key::bytes), 0});
  is_fixed_ = true;
}

void ticket_store::apply_to(SSL_CTX* context) {
  SSL_CTX_set_ex_data(context, store_index(), this);
  SSL_CTX_set_tlsext_ticket_key_evp_cb(context, &on_ticket);
}

/// Drops keys older than all generations, also if rotations were missed because no ticket was made.
/// Keeps the newest key if there are no random bytes. Requires the lock.
void ticket_store::rotate_if_due() {
  const std::int64_t now = date_seconds();
  if (is_fixed_ || kept_.front().is_current(now, rotation_seconds_)) return;
  const std::optional<ticket_key> next = ticket_key::random();
  if (!next) return;
  BECK_ASSERT(kept_.size() < kept_.capacity(), "a key of tickets would be copied and not wiped");
  kept_.insert(kept_.begin(), {*next, now});
  if (kept_.size() > generations) kept_.pop_back();
  const auto life = static_cast<std::int64_t>(generations) * rotation_seconds_;
  while (kept_.size() > 1 && !kept_.back().is_current(now, life)) kept_.pop_back();
}

ticket_key ticket_store::newest() {
  const std::lock_guard lock(mutex_);
  rotate_if_due();
  return kept_.front().key;
}

/// Called by OpenSSL. Returns 1 to continue, 2 to continue and renew the ticket, 0 for no ticket,
/// -1 for a failure.
int ticket_store::on_ticket(SSL* ssl, unsigned char* name, unsigned char* iv,
                            EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, int encrypts) {
  auto* self = static_cast<ticket_store*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), store_index()));
  if (self == nullptr) return 0;
  const auto begin = [&](const ticket_key& key, std::size_t age) {
    if (EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key.cipher, iv, encrypts) != 1)
      return -1;
    if (!set_mac(mac, key)) return -1;
    // A client of TLS 1.3 uses a ticket once: without a new one it could not resume the session
    // again.
    return age == 0 && SSL_version(ssl) != TLS1_3_VERSION ? 1 : 2;
  };
  if (encrypts != 1) return self->with_key(name, 0, begin);
  const ticket_key key = self->newest();
  std::memcpy(name, key.name, sizeof key.name);
  const int iv_bytes = EVP_CIPHER_get_iv_length(EVP_aes_256_cbc());
  return RAND_bytes(iv, iv_bytes) == 1 ? begin(key, 0) : -1;
}

}  // namespace beck::tls::detail
