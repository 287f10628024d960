// SPDX-License-Identifier: BSL-1.0
// The URL of a primary that sentinels know by a name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "redis/handshake.hpp"

namespace beck::redis::detail {

/// The sentinels, the name of the primary, and the login and database there.
struct sentinel_url {
  static constexpr std::size_t sentinels_max = 32;

  std::vector<server_url> sentinels;  ///< with their own login
  std::string name;                   ///< of the primary
  server_url primary;                 ///< without an address
};

/// Returns whether the scheme of a URL is redis+sentinel or rediss+sentinel.
bool is_sentinel_url(std::string_view text) noexcept;

/// Parses a URL; see redis::client. Throws std::invalid_argument, whose text does not contain the
/// URL: it may have a password.
sentinel_url parse_sentinel_url(std::string_view text);

}  // namespace beck::redis::detail
