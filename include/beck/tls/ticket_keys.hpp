// SPDX-License-Identifier: BSL-1.0
//
// The keys of session tickets, shared by the contexts, and perhaps by the processes, of a service.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/base/duration.hpp>
#include <cstddef>

namespace beck::tls {

namespace detail {
struct ticket_share;
}

/// Keys that encrypt tickets. A session can be resumed wherever its ticket can be decrypted. A
/// leaked key reveals the connections that were resumed with its tickets, and in TLS 1.2 also the
/// first ones. So keys are in memory only, are replaced, and are wiped.
///   tls::ticket_keys shared;
///   tls::server_context a("a.pem", "a.key", tls::server_options().tickets(shared));
/// A copy shares the keys. Thread: any.
class ticket_keys {
 public:
  /// The bytes of a key: 16 of its name, 32 for HMAC-SHA-256, 32 for AES-256-CBC.
  static constexpr std::size_t bytes = 80;
  /// The number of keys that are kept: the newest one encrypts, all of them decrypt.
  static constexpr std::size_t generations = 3;
  /// How long a key encrypts by default: 12 hours.
  static constexpr duration default_rotation = duration(12LL * 3600 * 1'000'000'000);

  /// Makes a random key, and a new one every `rotation`, when a ticket is made. A ticket is valid
  /// for two rotations. Throws std::invalid_argument for less than a second, std::system_error
  /// without random numbers.
  explicit ticket_keys(duration rotation = default_rotation);
  ticket_keys(const ticket_keys& other);
  ticket_keys& operator=(const ticket_keys& other) noexcept;
  ~ticket_keys();

  /// Replaces the keys by those of the program, and stops the rotation: the program has to replace
  /// them in time. `newest_first`: 1 to `generations` keys of `bytes` each, the newest first, all
  /// of them secret and random. Several processes that set the same keys resume each other's
  /// sessions: set the next key as the second one for a while, before it becomes the first. Throws
  /// std::invalid_argument for another number of bytes.
  void set(const_buffer newest_first);

  /// Returns the store; for the library.
  const detail::ticket_share& share() const noexcept { return *share_; }

 private:
  detail::ticket_share* share_;
};

}  // namespace beck::tls
