// SPDX-License-Identifier: BSL-1.0
// The secrets of connections in a file, for programs that look into captured packets. Only builds
// with the CMake option BECK_TLS_KEY_LOG look at the environment.
#pragma once

#include "tls/openssl.hpp"

namespace beck::tls::detail {

/// Makes connections of the context append their secrets to the file, which is made readable for
/// its owner alone. Returns whether it could be opened. Source: the format of SSLKEYLOGFILE.
bool log_keys_to(SSL_CTX* context, const char* path);

/// Calls log_keys_to() with the environment variable SSLKEYLOGFILE, in a build that allows it.
void log_keys_if_asked(SSL_CTX* context);

}  // namespace beck::tls::detail
