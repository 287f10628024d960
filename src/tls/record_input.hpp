// SPDX-License-Identifier: BSL-1.0
// The receiving side of a session. Received bytes are decrypted in place. While a read waits the
// session holds no buffer.
#pragma once

#include <cstddef>

#include <beck/base/buffer.hpp>
#include <beck/base/io_result.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/buffer_lease.hpp>

namespace beck::tls::detail {

class session;

/// Returns whether an operation that ended with this error may be started again.
inline bool is_passing(error_code ec) noexcept {
  return ec == beck::error::operation_aborted || ec == beck::error::timeout;
}

/// The bytes that were decrypted for a later read, and the end of the direction. Thread: that of
/// its session, of which it is a part.
class record_input {
 public:
  explicit record_input(session& of) noexcept : session_(of) {}

  // --- as byte_stream, after the handshake; one of them at a time
  /// Errors: eof after close_notify, truncated after an end without it, those of the engine and the
  /// transport.
  task<io_result<buffer_lease>> receive();
  /// As receive(). Bytes of `to` after the received ones may change, too.
  task<io_result<std::size_t>> read_some(mutable_buffer to);

  /// Reads bytes that are decrypted already. Returns false if the caller has to wait.
  bool read_ready(mutable_buffer to, std::size_t& bytes, error_code& ec) noexcept;
  /// Decrypts the input of the engine, at most `bytes`, for the next read.
  void decrypt_ahead(std::size_t bytes) noexcept;

 private:
  error_code read_error() const noexcept;
  error_code note_error(error_code why) noexcept;
  std::size_t decrypt(char* to, std::size_t room) noexcept;
  buffer_lease decrypt(buffer_lease&& received) noexcept;
  void keep(const_buffer rest) noexcept;
  std::size_t take(mutable_buffer to) noexcept;

  session& session_;
  buffer_lease ahead_;        // decrypted bytes for the next read
  std::size_t ahead_at_ = 0;  // the number of those that were read
  error_code error_;          // nothing more is received
};

}  // namespace beck::tls::detail
