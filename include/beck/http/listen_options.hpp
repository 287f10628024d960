// SPDX-License-Identifier: BSL-1.0
//
// Where and how a server listens, for listeners that need more than an endpoint.
#pragma once

#include <type_traits>

namespace beck {

class stream_layer;

}  // namespace beck

namespace beck::http {

/// The settings of server::listen().
struct listen_options {
  /// A socket that another part of the program, or another process, has opened: a listening stream
  /// socket of TCP or UNIX. The server duplicates it. The caller still owns it: it can be handed
  /// over to the next process, and may be closed after listen().
  int descriptor = -1;
  /// The layer that connections are served over, such as TLS, which must outlive all tasks of
  /// serve(); nullptr: none.
  stream_layer* layer = nullptr;
};
static_assert(std::is_trivially_destructible_v<listen_options>);

}  // namespace beck::http
