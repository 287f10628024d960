// SPDX-License-Identifier: BSL-1.0
//
// The bounds of received events.
#pragma once

#include <cstdint>
#include <type_traits>

namespace beck::http {

/// The bounds of an event_reader. A longer line or event ends the stream with message_size.
struct event_limits {
  std::uint32_t line_bytes = 1024 * 1024;   ///< of a line, without its end
  std::uint32_t event_bytes = 1024 * 1024;  ///< of the data, the name and the id of an event
};
static_assert(std::is_trivially_destructible_v<event_limits>);

}  // namespace beck::http
