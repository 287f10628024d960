// SPDX-License-Identifier: BSL-1.0
//
// The lines of an access log. What a client has sent is escaped, so that it can neither end a line
// nor a quoted text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace beck_serve {

enum class log_format : std::uint8_t {
  combined,  ///< as Apache and nginx write it
  json,      ///< an object a line
};

/// An exchange that has ended, a message that was refused, or a handshake that has failed.
struct log_entry {
  std::string_view client;  ///< an address, which a proxy may have told; empty if it is not known
  std::string_view peer;    ///< address and port of the connection's other end
  std::string_view method;
  std::string_view target;
  unsigned minor_version = 1;
  std::string_view referer;
  std::string_view user_agent;
  unsigned status = 0;           ///< 0: there was no response
  std::uint64_t sent_bytes = 0;  ///< of the body
  std::uint64_t received_bytes = 0;
  std::int64_t time_ns = 0;  ///< of the end, since 1970
  std::int64_t duration_ns = 0;
  std::string_view refusal;  ///< in words; empty: none. Then there may be no method and target
  bool cut = false;          ///< the response is not whole
  std::string handshake;     ///< the reason why a handshake of TLS has failed; empty: none has
};

/// Appends a line with its end.
void append_line(std::string& to, log_format format, const log_entry& entry);

}  // namespace beck_serve
