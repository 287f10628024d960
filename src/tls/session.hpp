// SPDX-License-Identifier: BSL-1.0
// A session: the engine, the stream that carries it, and the coroutine that sends what the carrier
// did not take at once.
#pragma once

#include <beck/io/stream_layer.hpp>

#include "tls/openssl.hpp"

namespace beck::tls::detail {

/// Makes the handshake that `ssl` is prepared for, over `carrier`. The result as stream_layer says;
/// with an error of TLS it owns a stream whose failure() explains it.
task<io_result<owned_stream>> shake_hands(owned_stream carrier, ssl_ptr ssl);

}  // namespace beck::tls::detail
