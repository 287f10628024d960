// SPDX-License-Identifier: BSL-1.0
//
// Replies of servers and proxies, without I/O: every type of RESP3, and the form in which RESP2 has
// it.
#pragma once

#include <beck/redis/byte_store.hpp>
#include <beck/redis/resp3.hpp>
#include <cstddef>
#include <string_view>

namespace beck::redis {

/// Writes replies one behind the other. The head of an aggregate is followed by its elements, of
/// which the caller writes as many as it has announced. All functions throw std::bad_alloc, and
/// then have written nothing. Thread: one at a time.
class reply_writer {
 public:
  /// Makes a writer for a client that speaks `version`.
  explicit reply_writer(protocol version = protocol::resp2) noexcept : version_(version) {}

  /// Sets the version, as HELLO does, for the following replies.
  void use(protocol version) noexcept { version_ = version; }
  /// Returns the version.
  protocol version() const noexcept { return version_; }

  /// Writes a short text: "+OK". CR and LF in it become spaces.
  reply_writer& simple(std::string_view text);
  /// Writes an error: "-ERR text". CR and LF in it become spaces.
  reply_writer& error(std::string_view text);
  /// Writes an error of any bytes; in RESP2 as error().
  reply_writer& bulk_error(std::string_view text);
  /// Writes an integer.
  reply_writer& integer(long long number);
  /// Writes a text of any bytes.
  reply_writer& bulk(std::string_view text);
  /// Writes a null; in RESP2 "$-1".
  reply_writer& null();
  /// Writes a null where an array would be; in RESP2 "*-1".
  reply_writer& null_array();
  /// Writes a truth value; in RESP2 the integer 1 or 0.
  reply_writer& boolean(bool truth);
  /// Writes a number with the fewest digits that are read as the same number, or "inf", "-inf",
  /// "nan"; in RESP2 as a text.
  reply_writer& real(double number);
  /// Writes an integer of any size; in RESP2 as a text. Requires, asserted, its shortest form: "0",
  /// or an optional minus and digits of which the first is not 0.
  reply_writer& big_number(std::string_view digits);
  /// Writes a text with a format of three bytes, such as "txt" (asserted); in RESP2 the text alone.
  reply_writer& verbatim(std::string_view format, std::string_view text);

  /// Begins an array of `elements` elements.
  reply_writer& array(std::size_t elements) { return head('*', '*', elements); }
  /// Begins a set; in RESP2 an array.
  reply_writer& set(std::size_t elements) { return head('~', '*', elements); }
  /// Begins a map of `pairs` keys, each followed by its value; in RESP2 an array of twice as many.
  /// Requires pairs <= SIZE_MAX / 2, asserted.
  reply_writer& map(std::size_t pairs);
  /// Begins a push; in RESP2 an array.
  reply_writer& push(std::size_t elements) { return head('>', '*', elements); }
  /// Begins the attributes of the element that is written behind them, as map(). Requires RESP3,
  /// asserted: RESP2 has none.
  reply_writer& attribute(std::size_t pairs);

  /// Begins a text of unknown size: streamed_part() follows, then end_streamed_text(). Requires
  /// RESP3, asserted, as all streamed forms.
  reply_writer& begin_streamed_text();
  /// Writes a part of a streamed text; an empty part is left out, as it would end the text.
  reply_writer& streamed_part(std::string_view text);
  /// Ends a streamed text.
  reply_writer& end_streamed_text();
  /// Begins an array, set or map (`kind`, asserted) of unknown size: elements follow, then
  /// end_streamed().
  reply_writer& begin_streamed(data_type kind);
  /// Ends a streamed aggregate.
  reply_writer& end_streamed();

  /// Adds bytes that are whole replies already, such as those of another server.
  reply_writer& raw(std::string_view replies) {
    bytes_.append(replies);
    return *this;
  }
  /// Removes all bytes; keeps the memory.
  void clear() noexcept { bytes_.clear(); }
  /// Removes all bytes and frees the memory.
  void release() noexcept { bytes_.release(); }

  /// Returns the bytes of all replies; valid until the next change.
  std::string_view bytes() const noexcept { return bytes_.view(); }
  /// Returns the number of bytes.
  std::size_t size() const noexcept { return bytes_.size(); }

 private:
  reply_writer& head(char kind, char in_resp2, std::size_t number);
  reply_writer& line(char kind, std::string_view text);
  reply_writer& text(char kind, std::string_view format, std::string_view text);
  bool is_resp3() const noexcept { return version_ == protocol::resp3; }

  detail::small_store<0> bytes_;
  protocol version_;
};

}  // namespace beck::redis
