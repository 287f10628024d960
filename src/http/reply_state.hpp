// SPDX-License-Identifier: BSL-1.0
// What a handler has said of its reply: status, fields, framing, and how much of the body is out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <beck/http/field.hpp>
#include <beck/http/head.hpp>
#include <beck/http/status.hpp>

namespace beck::http::detail {

/// The lines of the fields that a handler has set. The first of them need no allocation.
class field_lines {
 public:
  static constexpr std::size_t bytes_max = 16384;

  /// Adds "name: value". Throws std::invalid_argument for a name or a value that is not one,
  /// std::length_error above bytes_max, std::bad_alloc.
  void add(std::string_view name, std::string_view value);
  /// As above, for a known field, whose name is `name` in any case.
  void add(field f, std::string_view name, std::string_view value) {
    add_line(name, value);
    known_ |= bit(f);
  }
  /// Returns whether there may be a field `f`.
  bool may_have(field f) const noexcept { return f == field::other || (known_ & bit(f)) != 0; }
  /// Removes all fields of this name, in any case.
  void remove(std::string_view name) noexcept;
  /// Returns the lines, each with CR LF.
  std::string_view text() const noexcept {
    return more_.empty() ? std::string_view(room_, bytes_) : std::string_view(more_);
  }
  bool empty() const noexcept { return bytes_ == 0 && more_.empty(); }
  void clear() noexcept {
    bytes_ = 0;
    known_ = 0;
    more_.clear();
  }

 private:
  static constexpr std::uint64_t bit(field f) noexcept {
    return std::uint64_t{1} << static_cast<unsigned>(f);
  }
  void add_line(std::string_view name, std::string_view value);

  char room_[384];
  std::size_t bytes_ = 0;  // in room_; 0 if the lines are in more_
  std::uint64_t known_ = 0;
  std::string more_;
};

/// How much of a reply is in the output.
enum class reply_stage : std::uint8_t {
  unsent,  ///< nothing
  head,   ///< the head, or all of a whole reply, is being written: an exception leaves a part of it
  body,   ///< the head; parts of the body follow
  ended,  ///< all of it
};

/// The state of a reply. A plain record: reply_side keeps its rules. Its bools are independent of
/// each other, and of the stage.
struct reply_state {
  field_lines fields;
  std::uint64_t length = 0;  ///< promised, if has_length()
  std::uint64_t sent = 0;    ///< bytes of the body so far
  http::status status = http::status::ok;
  reply_stage stage = reply_stage::unsent;
  body_framing framing = body_framing::until_close;  ///< of a body in parts
  bool touched = false;                              ///< the handler has set the status or a field
  bool cut = false;                                  ///< the connection ends before the reply does
  bool broken = false;                               ///< a part of the body is missing
  bool close = false;                                ///< the connection ends after this reply

  bool has_begun() const noexcept { return stage != reply_stage::unsent; }
  /// Returns whether content_length() was called, or the body is a file.
  bool has_length() const noexcept { return framing == body_framing::length; }
  void promise(std::uint64_t bytes) noexcept {
    framing = body_framing::length;
    length = bytes;
  }
  void clear() noexcept {
    fields.clear();
    length = sent = 0;
    status = http::status::ok;
    stage = reply_stage::unsent;
    framing = body_framing::until_close;
    touched = cut = broken = close = false;
  }
};

}  // namespace beck::http::detail
