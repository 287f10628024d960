// SPDX-License-Identifier: BSL-1.0
//
// PROXY INFO, the command that the proxy answers itself whatever stands behind it.
#pragma once

#include <beck/redis/arguments.hpp>
#include <beck/redis/reply_writer.hpp>
#include <cstddef>
#include <string_view>

#include "statistics.hpp"

namespace beck_redis_proxy {

/// Returns whether a command is PROXY INFO.
bool is_proxy_info(const beck::redis::arguments& command) noexcept;

/// Writes the reply to PROXY INFO: a text, as the reply to INFO.
void write_proxy_info(const statistics& of, beck::redis::reply_writer& to);

/// The front of a client's bytes, compared with PROXY INFO as an array and in a line.
struct proxy_info_match {
  std::size_t bytes = 0;  ///< of the command, if it is whole; else 0
  bool may_come = false;  ///< the bytes are the beginning of it
};
/// Compares the first bytes of a client. Pure.
proxy_info_match match_proxy_info(std::string_view front) noexcept;

}  // namespace beck_redis_proxy
