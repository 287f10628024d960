// SPDX-License-Identifier: BSL-1.0
//
// Where and how a server listens, for listeners that need more than an endpoint.
#pragma once

namespace beck {

class stream_layer;

}  // namespace beck

namespace beck::http {

/// The settings of server::listen(). Every setter returns the object.
class listen_options {
 public:
  /// Makes the defaults.
  listen_options() noexcept {}
  /// Listens on a socket that another part of the program, or another process, has opened: a
  /// listening stream socket of TCP or UNIX. The server duplicates it. The caller still owns
  /// `listening`: it can be handed over to the next process, and may be closed after listen().
  listen_options& descriptor(int listening) noexcept {
    descriptor_ = listening;
    return *this;
  }
  /// Serves connections over `over`, such as TLS, which must outlive all tasks of serve().
  listen_options& layer(stream_layer& over) noexcept {
    layer_ = &over;
    return *this;
  }
  int descriptor() const noexcept { return descriptor_; }
  stream_layer* layer() const noexcept { return layer_; }

 private:
  int descriptor_ = -1;
  stream_layer* layer_ = nullptr;
};

}  // namespace beck::http
