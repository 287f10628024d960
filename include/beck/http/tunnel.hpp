// SPDX-License-Identifier: BSL-1.0
//
// A connection that a handler has taken over from the server, after 101 or a response to CONNECT.
#pragma once

#include <beck/io/byte_stream.hpp>
#include <string_view>

namespace beck::http {

namespace detail {
class connection;
}

/// A connection on which HTTP has ended. The server has no limits for it, but still counts it, and
/// closes it after the grace of a stop; operations on the stream then end with operation_aborted.
/// Move-only; its destructor closes the connection.
/// Thread: that of the connection, also for its destruction. Lifetime: its owner destroys it before
/// the context, or is destroyed with the context.
class tunnel {
 public:
  /// Makes a tunnel without a connection.
  tunnel() noexcept = default;
  /// Takes over the connection of `other`.
  tunnel(tunnel&& other) noexcept : connection_(other.connection_) { other.connection_ = nullptr; }
  tunnel& operator=(tunnel&& other) noexcept;
  ~tunnel();

  /// Returns the stream, which may be that of a layer. Requires that the tunnel owns a connection;
  /// not checked.
  byte_stream& stream() const noexcept;
  /// Returns the bytes that arrived after the request: they precede the bytes of stream(). Valid as
  /// long as the tunnel. Requires as stream().
  std::string_view read_ahead() const noexcept;
  /// Returns whether the tunnel owns a connection, open or not.
  explicit operator bool() const noexcept { return connection_ != nullptr; }

 private:
  friend class detail::connection;
  explicit tunnel(detail::connection& of) noexcept : connection_(&of) {}

  detail::connection* connection_ = nullptr;
};

}  // namespace beck::http
