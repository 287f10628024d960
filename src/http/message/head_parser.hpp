// SPDX-License-Identifier: BSL-1.0
// The parser of heads, made for one call. It searches 64 bytes at a time for colons and line ends,
// so one search serves several short lines, and enters the parts of the lines into the head.
// Requests, responses and trailers share it. The code that almost all messages run is compiled
// twice: for every processor, and for those with AVX2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <beck/http/parser.hpp>

#include "base/byte_block.hpp"
#include "base/wide_block.hpp"
#include "http/message/field_table.hpp"

namespace beck::http::detail {

/// Offsets of interesting bytes, in order. `Ask` is a test of a block of bytes.
template <auto Ask, class Text>
class byte_finder {
 public:
  BECK_INLINE byte_finder(Text& text, std::size_t from) noexcept
      : text_(text), at_(from), mask_((block(text.readable(from)).*Ask)()) {}

  /// Returns the offset of the next one; the size of the text if there is none.
  BECK_INLINE std::size_t next() noexcept {
    while (mask_ == 0) {
      at_ += byte_block::bytes;
      if (at_ >= text_.size()) return text_.size();
      mask_ = (block(text_.readable(at_)).*Ask)();
    }
    const std::size_t found = at_ + beck::detail::first_in(mask_);
    mask_ &= mask_ - 1;
    return found < text_.size() ? found : text_.size();
  }

 private:
  using block = typename Text::block;

  Text& text_;
  std::size_t at_;
  std::uint32_t mask_;
};

/// Text whose padding allows a read of line_marks::bytes from each position.
class padded_text {
 public:
  using block = byte_block;
  using plain = padded_text;  ///< for rare work, which is not compiled for AVX2

  padded_text(const char* data, std::size_t size) noexcept : data_(data), size_(size) {}
  const char* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  char operator[](std::size_t i) const noexcept { return data_[i]; }
  const char* readable(std::size_t at) const noexcept { return data_ + at; }

 private:
  const char* data_;
  std::size_t size_;
};

/// As padded_text, for a processor with AVX2.
class wide_text : public padded_text {
 public:
  using block = beck::detail::wide_block;
  using padded_text::padded_text;
};

/// Text without readable bytes after it: its last bytes are read from a copy.
class bare_text {
 public:
  using block = byte_block;
  using plain = bare_text;

  bare_text(const char* data, std::size_t size) noexcept : data_(data), size_(size) {}
  const char* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  char operator[](std::size_t i) const noexcept { return data_[i]; }
  const char* readable(std::size_t at) noexcept;

 private:
  const char* data_;
  std::size_t size_;
  char tail_[byte_block::bytes] = {};
};

/// The control characters and colons of a line and of the bytes after it, within the block that was
/// searched: bit i stands for byte i of the line.
struct line_marks {
  static constexpr std::size_t bytes = std::size_t{2} * byte_block::bytes;

  template <class Text>
  BECK_INLINE void look(Text& text, std::size_t line) noexcept {
    const typename Text::block low(text.readable(line));
    const typename Text::block high(text.readable(line + byte_block::bytes));
    controls = low.controls() | std::uint64_t{high.controls()} << byte_block::bytes;
    colons = low.equal(':') | std::uint64_t{high.equal(':')} << byte_block::bytes;
  }
  /// Moves to the next line, which begins `count` bytes after this one.
  BECK_INLINE void pass(std::size_t count) noexcept {
    controls = count < bytes ? controls >> count : 0;
    colons = count < bytes ? colons >> count : 0;
  }

  std::uint64_t controls = 0;
  std::uint64_t colons = 0;
};

/// Makes heads from text; a friend of head.
class head_parser {
 public:
  head_parser(head& to, head_progress& progress, const head_limits& limits) noexcept
      : head_(to), progress_(progress), limits_(limits) {}

  parse_status parse_request(bare_text text) noexcept;
  parse_status parse_request(padded_text text) noexcept;
  BECK_WIDE parse_status parse_request(wide_text text) noexcept;
  parse_status parse_response(bare_text text, method asked) noexcept;
  parse_status parse_response(padded_text text, method asked) noexcept;
  BECK_WIDE parse_status parse_response(wide_text text, method asked) noexcept;
  parse_status parse_trailers(bare_text text) noexcept;

 private:
  /// The set of fields found; kept in registers while lines are parsed.
  struct found_fields {
    std::uint64_t known;
    std::uint64_t repeated;
    unsigned count;
    const unsigned count_max;
    const unsigned name_bytes_max;  ///< of names that may be known ones
  };

  template <class Text>
  parse_status request(Text text) noexcept;
  template <class Text>
  parse_status response(Text text, method asked) noexcept;
  template <class Text>
  parse_status parse_fields(Text& text, line_marks marks) noexcept;
  template <class Text>
  bool parse_plain_line(Text& text, line_marks& marks) noexcept;
  template <class Text>
  parse_status parse_request_line(Text& text) noexcept;
  template <class Text>
  parse_status parse_version(Text& text, std::size_t at) noexcept;
  template <class Text>
  parse_status parse_status_line(Text& text) noexcept;
  void keep(const found_fields& found) noexcept;
  template <class Text>
  refusal add_field(Text& text, std::size_t line, std::size_t name_bytes, std::size_t end,
                    found_fields& found) noexcept;

  parse_status refuse(refusal reason, std::size_t offset) noexcept;
  parse_status refuse_field(refusal reason, field f) noexcept;
  parse_status finish_request(bool has_plain_host) noexcept;
  parse_status finish_connect() noexcept;
  parse_status finish_response(method asked) noexcept;
  bool has_tab_around(field f) const noexcept;
  parse_status find_framing() noexcept;
  template <class Text>
  bool has_plain_host(Text& text) const noexcept;
  parse_status find_host() noexcept;
  void find_persistence() noexcept;

  head& head_;
  head_progress& progress_;
  const head_limits& limits_;
};

/// Parses the fields after the last chunk of a body, from their beginning.
parse_status parse_trailers(std::string_view input, head& to, head_progress& progress,
                            const head_limits& limits) noexcept;

}  // namespace beck::http::detail
