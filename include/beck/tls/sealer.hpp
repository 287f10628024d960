// SPDX-License-Identifier: BSL-1.0
//
// Sealed texts: what a service gives to its clients and wants back unread and unchanged, such as
// the name of a user in a cookie. And random tokens.
#pragma once

#include <beck/base/duration.hpp>
#include <cstddef>
#include <string>  // lint: allow heavy-header, error.hpp has it already
#include <string_view>

namespace beck::tls {

namespace detail {
struct sealer_keys;
}

/// Encrypts and authenticates texts that clients keep for the service (AES-256-GCM). Such a text
/// tells a client nothing but its size. A client can send an older one again until it expires: what
/// must end sooner, such as a login, needs a table, too.
///   const tls::sealer seal("/etc/example/session.keys");
///   r.set_cookie(http::cookie("session", seal.seal(user, 12h)).max_age(12h));
///   if (std::string user; seal.open(http::cookie_of(q, "session"), user)) ...
/// A copy shares the keys. Thread: any.
class sealer {
 public:
  /// The number of bytes of a key, and the most keys.
  static constexpr std::size_t key_bytes = 32, keys_max = 16;

  /// Reads keys from a file: one a line, 64 hexadecimal digits (`openssl rand -hex 32`); empty
  /// lines and those that begin with "#" are skipped. The first key seals, each opens. To replace
  /// the key on several machines, add the new one behind the old one everywhere, then move it to
  /// the front, and remove the old one when its texts have expired; before 2^32 texts. `purpose`:
  /// only sealers with the same one open each other's texts, whatever their keys are; copied.
  /// Throws io_error if the file cannot be read; std::invalid_argument with the line if there is no
  /// key, one is malformed or there are too many; std::bad_alloc.
  explicit sealer(const char* path, std::string_view purpose = {});
  /// As above, with the keys in a text.
  static sealer from_text(std::string_view keys, std::string_view purpose = {});
  sealer(const sealer& other) noexcept;
  sealer& operator=(const sealer& other) noexcept;
  ~sealer();

  /// Returns `text`, sealed, in the characters of URLs and cookies (letters, digits, "-", "_"): 4
  /// characters for 3 bytes, and 55. It opens until `lifetime` is over, by the system's clock, in
  /// whole seconds. Throws std::invalid_argument for a lifetime below 1 s; std::length_error for a
  /// text of 2 GiB; std::system_error without random numbers; std::bad_alloc.
  std::string seal(std::string_view text, duration lifetime) const;
  /// Opens a text that seal() has made, into `to`. Returns false, and leaves `to` empty, if it was
  /// changed, has expired, or was sealed with an unknown key or for another purpose. Throws
  /// std::bad_alloc.
  bool open(std::string_view sealed, std::string& to) const;

  /// As the two above, at another time: seconds since 1970, for tests and simulations.
  std::string seal_at(long long now, std::string_view text, duration lifetime) const;
  bool open_at(long long now, std::string_view sealed, std::string& to) const;

 private:
  explicit sealer(detail::sealer_keys* keys) noexcept : keys_(keys) {}

  detail::sealer_keys* keys_;
};

namespace functions {

/// Returns `bytes` random bytes in the characters of URLs: names that nobody guesses. Throws
/// std::system_error without random numbers; std::bad_alloc.
std::string random_token(std::size_t bytes = 16);

}  // namespace functions
using namespace functions;

}  // namespace beck::tls
