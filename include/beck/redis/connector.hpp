// SPDX-License-Identifier: BSL-1.0
//
// The way in which a client's connections are made: through a proxy, or to a script in a test.
// Without a connector a client connects over TCP or a UNIX socket.
#pragma once

#include <beck/io/stream_layer.hpp>

namespace beck::redis {

/// Opens connections to a server. Thread: that of the client's context. Lifetime: outlives the
/// client.
class connector {
 public:
  connector() noexcept = default;
  connector(const connector&) = delete;
  connector& operator=(const connector&) = delete;
  virtual ~connector() = default;

  /// Opens a stream on the executor `on`. The caller limits the time and cancels the task through
  /// its scope.
  virtual task<io_result<owned_stream>> connect(any_io_executor on) = 0;
};

}  // namespace beck::redis
