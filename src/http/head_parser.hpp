// SPDX-License-Identifier: BSL-1.0
// The parser of heads, made for one call. It finds the lines with one look at 32 bytes each, or
// more for longer ones, and puts their parts into the head. Requests, replies and trailers share
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <beck/http/parser.hpp>

#include "base/byte_block.hpp"
#include "http/field_table.hpp"

namespace beck::http::detail {

/// Offsets of interesting bytes, in order. `Ask` is a question to a byte_block.
template <std::uint32_t (byte_block::*Ask)() const noexcept, class Text>
class byte_finder {
 public:
  byte_finder(Text& text, std::size_t from) noexcept
      : text_(text), at_(from), mask_((byte_block(text.readable(from)).*Ask)()) {}

  /// Returns the offset of the next one; the size of the text if there is none.
  std::size_t next() noexcept {
    while (mask_ == 0) {
      at_ += byte_block::bytes;
      if (at_ >= text_.size()) return text_.size();
      mask_ = (byte_block(text_.readable(at_)).*Ask)();
    }
    const std::size_t found = at_ + beck::detail::first_in(mask_);
    mask_ &= mask_ - 1;
    return found < text_.size() ? found : text_.size();
  }

 private:
  Text& text_;
  std::size_t at_;
  std::uint32_t mask_;
};

/// Text of which byte_block::bytes may be read from each place on.
class padded_text {
 public:
  padded_text(const char* data, std::size_t size) noexcept : data_(data), size_(size) {}
  const char* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  char operator[](std::size_t i) const noexcept { return data_[i]; }
  const char* readable(std::size_t at) const noexcept { return data_ + at; }

 private:
  const char* data_;
  std::size_t size_;
};

/// Text behind which nothing may be read: its last bytes are read from a copy.
class bare_text {
 public:
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

/// Makes heads from text; a friend of head.
class head_parser {
 public:
  head_parser(head& to, head_progress& progress, const head_limits& limits) noexcept
      : head_(to), progress_(progress), limits_(limits) {}

  template <class Text>
  parse_status parse_request(Text text) noexcept;
  template <class Text>
  parse_status parse_response(Text text, method asked) noexcept;
  parse_status parse_trailers(bare_text text) noexcept;

 private:
  template <class Text>
  parse_status parse_fields(Text& text) noexcept;
  template <class Text>
  bool parse_plain_line(Text& text) noexcept;
  template <class Text>
  parse_status parse_request_line(Text& text) noexcept;
  template <class Text>
  parse_status parse_version(Text& text, std::size_t at) noexcept;
  template <class Text>
  parse_status parse_status_line(Text& text) noexcept;
  /// Which fields there are; kept in registers while lines are parsed.
  struct found_fields {
    std::uint64_t known;
    std::uint64_t repeated;
    unsigned count;
  };
  void keep(const found_fields& found) noexcept;
  template <class Text>
  refusal add_field(const Text& text, const byte_block& block, std::size_t line, std::size_t end,
                    found_fields& found) noexcept;

  parse_status refuse(refusal reason, std::size_t offset) noexcept;
  parse_status refuse_field(refusal reason, field f) noexcept;
  parse_status finish_request(bool has_plain_host) noexcept;
  parse_status finish_connect() noexcept;
  parse_status finish_response(method asked) noexcept;
  parse_status find_framing() noexcept;
  template <class Text>
  bool has_plain_host(Text& text) const noexcept;
  parse_status find_host() noexcept;
  void find_persistence() noexcept;

  head& head_;
  head_progress& progress_;
  const head_limits& limits_;
};

/// Parses the fields behind the last chunk of a body, from their beginning.
parse_status parse_trailers(std::string_view input, head& to, head_progress& progress,
                            const head_limits& limits) noexcept;

}  // namespace beck::http::detail
