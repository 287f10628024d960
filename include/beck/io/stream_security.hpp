// SPDX-License-Identifier: BSL-1.0
// The result of the handshake of a layer, for logs.
#pragma once

#include <string_view>

namespace beck {

/// The result of the handshake of a layer, such as TLS. The texts are valid until the stream is
/// destroyed.
struct stream_security {
  std::string_view version;      ///< such as "TLSv1.3"; empty without such a layer
  std::string_view cipher;       ///< such as "TLS_AES_256_GCM_SHA384"
  std::string_view protocol;     ///< that both sides have agreed on (ALPN); empty: none
  std::string_view server_name;  ///< that the client has asked for (SNI); empty: none
  bool is_resumed = false;       ///< an earlier session was resumed
};

}  // namespace beck
