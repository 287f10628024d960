// SPDX-License-Identifier: BSL-1.0
// The seam for TLS and its like: a layer makes a byte_stream of its own over another one, after a
// handshake with the peer. Servers and clients know nothing else of it.
#pragma once

#include <beck/io/byte_stream.hpp>
#include <string_view>
#include <utility>

namespace beck {

/// Owns a byte_stream, or none. Move-only. Thread: that of the stream.
class owned_stream {
 public:
  /// Owns none.
  owned_stream() noexcept = default;
  /// Owns `stream`, which was made with new.
  explicit owned_stream(byte_stream* stream) noexcept : stream_(stream) {}
  owned_stream(owned_stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  owned_stream& operator=(owned_stream&& other) noexcept {
    if (this != &other) {
      delete stream_;
      stream_ = std::exchange(other.stream_, nullptr);
    }
    return *this;
  }
  ~owned_stream() { delete stream_; }

  /// Returns the stream, or nullptr.
  byte_stream* get() const noexcept { return stream_; }
  /// Returns the stream. Requires that there is one; not checked.
  byte_stream& operator*() const noexcept { return *stream_; }
  /// As above.
  byte_stream* operator->() const noexcept { return stream_; }
  /// Returns whether it owns a stream.
  explicit operator bool() const noexcept { return stream_ != nullptr; }

 private:
  byte_stream* stream_ = nullptr;
};

/// Makes streams over other streams. One layer serves any number of connections, of several
/// contexts at once, and outlives them.
/// A handshake ends with a stream that owns its carrier, or with an error; then the carrier is
/// closed, or gone. With an error the result may own a stream, too, which is good for error_text()
/// only: for a sentence with names and dates that an error_code cannot hold. A stop of the awaiting
/// scope ends it: that is how its caller limits its time. Bytes that the peer sends behind its last
/// message of the handshake belong to the new stream.
/// Thread: any; a handshake runs on the context of its carrier.
class stream_layer {
 public:
  stream_layer() noexcept = default;
  stream_layer(const stream_layer&) = delete;
  stream_layer& operator=(const stream_layer&) = delete;
  virtual ~stream_layer() = default;

  /// Makes the handshake of a server over an accepted stream. Errors: those of the layer; eof and
  /// the like if the peer has gone; operation_aborted if the scope was stopped.
  virtual task<io_result<owned_stream>> accept(owned_stream carrier) = 0;
  /// Makes the handshake of a client over a connected stream, with the peer that is expected to be
  /// `name`, a host name or an address, which must outlive the handshake. Errors: as
  /// accept(), and the layer's for a peer that is another one.
  virtual task<io_result<owned_stream>> connect(owned_stream carrier, std::string_view name) = 0;
};

}  // namespace beck
