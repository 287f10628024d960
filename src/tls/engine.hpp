// SPDX-License-Identifier: BSL-1.0
// TLS without I/O: the OpenSSL object of one connection between two blocks of memory. The input is
// the received bytes in place; the output is memory of the thread that is sent at once. Between
// calls only OpenSSL's own record holds bytes. docs/adr/0014-tls-without-buffers.md has the
// reasons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <beck/base/assert.hpp>
#include <beck/base/flat_buffer.hpp>
#include <beck/io/byte_stream.hpp>

#include "tls/failure.hpp"
#include "tls/openssl.hpp"

namespace beck::tls::detail {

/// The calls that an engine allows next.
enum class engine_state : std::uint8_t {
  shaking,  ///< the handshake is under way
  open,     ///< bytes may be read and written
  ended,    ///< the peer has sent close_notify: nothing more comes; bytes may be written
  failed,   ///< no further call is allowed; error() has the reason
};

/// Memory of a thread for one call of an engine: its output, and small parts joined for one record.
struct work_space {
  /// The greatest number of bytes that write() encrypts at once.
  static constexpr std::size_t plain_max = 81'920;
  static constexpr std::size_t record_max = 16'384;

  /// Returns the one of the calling thread; nullptr without memory.
  static work_space* here() noexcept;

  char sealed[plain_max + 4096];
  char joined[record_max];
};

/// One connection. Thread: one at a time; the caller takes the output of a call before it calls
/// another engine on the thread.
class engine {
 public:
  /// Takes over an object that was prepared for one side. Throws std::bad_alloc.
  explicit engine(ssl_ptr prepared);
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  // --- input
  /// Sets the next received bytes, which must stay readable until they are consumed. Requires that
  /// all earlier bytes are consumed.
  void give(const char* bytes, std::size_t count) noexcept {
    BECK_ASSERT(!has_input() || !reads(), "input was replaced before it was decrypted");
    input_ = bytes;
    input_end_ = bytes + count;
  }
  bool has_input() const noexcept { return input_ != input_end_; }
  /// Returns a bound for the number of bytes of an incomplete record in OpenSSL. If there is so
  /// much room before a record's input, the decrypted bytes may be written over that input.
  std::size_t held() const noexcept { return held_; }

  // --- steps
  /// Continues the handshake as far as the input allows.
  void shake() noexcept;
  /// Decrypts at most `room` bytes to `to`, until there is no input, no room, or an end. Returns
  /// their number. `to` may overlap the input; see held(). `now`: by the context's clock.
  std::size_t read(char* to, std::size_t room, std::int64_t now) noexcept;
  /// Encrypts bytes of `parts`, at most work_space::plain_max. `now`: by the context's clock.
  /// Returns their number.
  std::size_t write(const_buffer_span parts, std::int64_t now) noexcept;
  /// As write(), and appends close_notify if all of `parts` is encrypted.
  std::size_t write_last(const_buffer_span parts, std::int64_t now) noexcept;
  /// Writes close_notify, unless a message of the peer has arrived only in part.
  void end() noexcept;
  /// Notes a failure: no further call is allowed. `text`: nullptr if the code is enough.
  void fail(error_code why, const char* text) noexcept;

  // --- output
  /// Returns the bytes to send: those in the thread's work_space, and those that did not fit there.
  const_buffer output() const noexcept { return {output_, output_bytes_}; }
  const_buffer more_output() const noexcept { return more_output_.data(); }
  void drop_output() noexcept {
    output_bytes_ = 0;
    if (!more_output_.empty()) more_output_.release();
  }

  // --- state
  engine_state state() const noexcept { return state_; }
  /// Returns the failure. Requires state() == engine_state::failed.
  const error_code& error() const noexcept {
    BECK_ASSERT(state_ == engine_state::failed, "the error of an engine that has not failed");
    return error_;
  }
  /// Returns the sentence of the failure; an empty text if there is none, or the code is enough.
  std::string_view error_text() const noexcept {
    if (text_ == nullptr) return {};
    return *text_;
  }
  /// Returns whether nothing more can be written.
  bool has_said_end() const noexcept { return ended_; }
  SSL* ssl() const noexcept { return ssl_.get(); }

 private:
  friend struct engine_bio;

  bool reads() const noexcept {
    return state_ == engine_state::shaking || state_ == engine_state::open;
  }
  bool begin() noexcept;
  bool may_write() const noexcept {
    return (state_ == engine_state::open || state_ == engine_state::ended) && !ended_;
  }
  void say_end() noexcept;
  std::size_t record_bytes(std::int64_t now) noexcept;
  void release() noexcept;
  void count_message(std::int64_t now) noexcept;
  bool seal(const char* bytes, std::size_t count) noexcept;
  void fail() noexcept;
  static void note_message(const SSL* of, int where, int);

  ssl_ptr ssl_;
  const char* input_ = nullptr;
  const char* input_end_ = nullptr;
  std::size_t held_ = 0;  // input since the last record with application data
  char* output_ = nullptr;
  std::size_t output_bytes_ = 0;
  flat_buffer more_output_;
  std::int64_t counted_from_ = 0;  // the time at which the next two start to count
  std::uint64_t read_bytes_ = 0;
  std::uint64_t messages_ = 0;   // handshake messages after the handshake
  std::int64_t written_at_ = 0;  // the last write
  std::size_t ramp_bytes_ = 0;   // written since a pause, while they are few
  error_code error_;
  std::unique_ptr<std::string> text_;
  engine_state state_ = engine_state::shaking;
  bool met_message_ = false;  // in the present call
  bool ended_ = false;        // close_notify was written
  bool out_of_memory_ = false;
};

}  // namespace beck::tls::detail
