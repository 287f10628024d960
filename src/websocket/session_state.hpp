// SPDX-License-Identifier: BSL-1.0
// The states of a WebSocket connection (RFC 6455, section 7) as a table (base/transitions.hpp).
#pragma once

#include <cstdint>

#include "base/transitions.hpp"

namespace beck::websocket::detail {

enum class session_state : std::uint8_t {
  open,     ///< both sides send
  closing,  ///< our close frame was sent or is queued; the peer may still send
  deaf,     ///< nothing more can be sent; what the peer has sent is read
  ending,   ///< nothing more is read; what waits is sent
  lost,     ///< the socket is closed
};

enum class session_event : std::uint8_t {
  close,  ///< our close frame is queued
  mute,   ///< the socket takes no more
  end,    ///< the peer's close frame came, or the connection fails
  lose,   ///< the socket is closed
};

/// In the order of session_event.
inline constexpr beck::detail::transition_table<session_state, 4> session_transitions = [] {
  using beck::detail::any_but;
  using beck::detail::any_of;
  using enum session_state;
  return beck::detail::transition_table<session_state, 4>{{
      /* close */ {closing, any_of({open})},
      /* mute  */ {deaf, any_of({open, closing})},
      /* end   */ {ending, any_of({closing, deaf})},
      /* lose  */ {lost, any_but({lost})},
  }};
}();

}  // namespace beck::websocket::detail
