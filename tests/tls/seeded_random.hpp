// SPDX-License-Identifier: BSL-1.0
// Random numbers of OpenSSL that follow from a seed, so that certificates and handshakes repeat: a
// state that is hashed for each draw. The way to replace them is deprecated, and the only one that
// reaches the signatures of ECDSA.
#pragma once

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace beck::tls::test {

/// Replaces OpenSSL's random numbers, of all threads, while it lives. One at a time.
class seeded_random {
 public:
  explicit seeded_random(std::string_view seed) : before_(RAND_get_rand_method()) {
    EVP_Digest(seed.data(), seed.size(), state.data(), nullptr, EVP_sha256(), nullptr);
    RAND_set_rand_method(&method);
  }
  ~seeded_random() { RAND_set_rand_method(before_); }
  seeded_random(const seeded_random&) = delete;
  seeded_random& operator=(const seeded_random&) = delete;

 private:
  static int draw(unsigned char* to, int bytes) {
    for (int at = 0; at < bytes; at += 32) {
      EVP_Digest(state.data(), state.size(), state.data(), nullptr, EVP_sha256(), nullptr);
      std::memcpy(to + at, state.data(), static_cast<std::size_t>(std::min(bytes - at, 32)));
    }
    return 1;
  }
  static int status() { return 1; }

  inline static std::array<unsigned char, 32> state = {};
  inline static const RAND_METHOD method = {nullptr, &draw, nullptr, nullptr, &draw, &status};
  const RAND_METHOD* before_;
};

}  // namespace beck::tls::test
