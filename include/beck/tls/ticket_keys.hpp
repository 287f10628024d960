// SPDX-License-Identifier: BSL-1.0
//
// The keys of session tickets, shared by the contexts, and perhaps the processes, of a service.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/base/duration.hpp>
#include <cstddef>

namespace beck::tls {

namespace detail {
struct ticket_share;
}

/// Keys that tickets are encrypted with. A session can be resumed wherever its ticket can be
/// decrypted; a key that leaks opens the connections that were resumed with its tickets, in TLS 1.2
/// also the first ones. So keys live in memory only, are replaced, and are wiped.
///   tls::ticket_keys shared;
///   tls::server_context a("a.pem", "a.key", tls::server_options().tickets(shared));
/// A copy shares the keys. Thread: any.
class ticket_keys {
 public:
  /// The bytes of a key: 16 of a name, 32 for HMAC-SHA-256, 32 for AES-256-CBC.
  static constexpr std::size_t bytes = 80;
  /// The number of keys that are kept: the newest encrypts, all decrypt.
  static constexpr std::size_t generations = 3;
  /// How long a key encrypts, unless another time is given: 12 hours.
  static constexpr duration default_rotation = duration(12LL * 3600 * 1'000'000'000);

  /// Makes a random key, and a new one each `rotation`, as tickets are made; a ticket is good for
  /// two rotations. Throws std::invalid_argument for less than a second, std::system_error without
  /// random numbers.
  explicit ticket_keys(duration rotation = default_rotation);
  ticket_keys(const ticket_keys& other);
  ticket_keys& operator=(const ticket_keys& other) noexcept;
  ~ticket_keys();

  /// Replaces the keys by those of the program, which has to replace them again in time: there is
  /// no rotation any more. `newest_first`: 1 to `generations` keys of `bytes` each, the newest
  /// first, all of them secret and random. Several processes that set the same keys, the next one
  /// as the second a while before it becomes the first, resume each other's sessions. Throws
  /// std::invalid_argument for another number of bytes.
  void set(const_buffer newest_first);

  /// For the library.
  const detail::ticket_share& share() const noexcept { return *share_; }

 private:
  detail::ticket_share* share_;
};

}  // namespace beck::tls
