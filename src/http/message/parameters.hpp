// SPDX-License-Identifier: BSL-1.0
// The parameters behind the value of a field, such as those of Content-Type (RFC 9110, section
// 5.6.6): ";name=value", with a token or a text in quotes as the value. Empty ones, which programs
// read differently, are malformed, except at the end.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "http/message/characters.hpp"

namespace beck::http::detail {

/// A parameter: its name as it was sent, and its value without quotes.
struct parameter {
  std::string_view name;
  std::string value;
};

/// Reads the parameters of one value, one after the other. Refers to the text.
class parameter_reader {
 public:
  /// Begins behind the value itself: `text` is empty or begins with white space or ";".
  explicit parameter_reader(std::string_view text) noexcept : left_(text) {}

  /// Reads the next parameter. Returns false at the end, and if the text is malformed. Throws
  /// std::bad_alloc.
  bool read(parameter& to) {
    if (!begin_next() || left_.empty()) return false;  // a ";" may stand at the end
    const std::size_t equals = left_.find('=');
    if (equals == std::string_view::npos) return fail();
    to.name = left_.substr(0, equals);
    left_.remove_prefix(equals + 1);
    if (!is_token(to.name)) return fail();
    to.value.clear();
    return read_value(to.value) || fail();
  }
  /// Returns whether the text is malformed.
  bool is_bad() const noexcept { return is_bad_; }

 private:
  bool fail() noexcept {
    is_bad_ = true;
    left_ = {};
    return false;
  }
  void skip_blanks() noexcept {
    while (!left_.empty() && is_blank(left_.front())) left_.remove_prefix(1);
  }
  /// Moves behind the next ";" and the white space around it. Returns false if there is none.
  bool begin_next() noexcept {
    skip_blanks();
    if (left_.empty()) return false;
    if (left_.front() != ';') return fail();
    left_.remove_prefix(1);
    skip_blanks();
    return true;
  }
  bool read_value(std::string& to) {
    if (!left_.empty() && left_.front() == '"') return read_quoted(to);
    std::size_t end = 0;
    while (end < left_.size() && is_in(left_[end], in_token)) ++end;
    to.assign(left_.substr(0, end));
    left_.remove_prefix(end);
    return end != 0;
  }
  /// A backslash stands for itself unless it precedes a quote or a backslash: some browsers have
  /// sent whole paths of Windows (Go's mime package has the same rule).
  bool read_quoted(std::string& to) {
    for (std::size_t at = 1; at < left_.size(); ++at) {
      if (left_[at] == '"') {
        left_.remove_prefix(at + 1);
        return true;
      }
      const bool escapes = left_[at] == '\\' && at + 1 < left_.size() &&
                           (left_[at + 1] == '"' || left_[at + 1] == '\\');
      if (escapes) ++at;
      to += left_[at];
    }
    return false;
  }

  std::string_view left_;
  bool is_bad_ = false;
};

}  // namespace beck::http::detail
