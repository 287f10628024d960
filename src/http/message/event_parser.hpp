// SPDX-License-Identifier: BSL-1.0
// The parser of server-sent events, without I/O. It takes the stream in pieces; where they are
// split does not matter. Source: WHATWG HTML, section 9.2.6, "Interpreting an event stream".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <beck/http/event_limits.hpp>

namespace beck::http::detail {

/// What a call of event_parser::parse() has found.
enum class event_status : std::uint8_t {
  more,      ///< all of the input was taken, and there is no event yet
  event,     ///< an event is whole
  too_long,  ///< a line or an event is too long; so say all further calls
};

/// Parses one stream. Thread: one at a time.
class event_parser {
 public:
  /// `last_id`: that of earlier events, on another connection. Throws std::bad_alloc.
  explicit event_parser(const event_limits& bounds, std::string_view last_id = {})
      : bounds_(bounds), id_(last_id), last_id_(last_id) {}

  /// Parses the beginning of `input`, up to the end of an event at most, and removes what it has
  /// taken. After an event, call take() before the next parse(). Throws std::bad_alloc.
  event_status parse(std::string_view& input);

  /// Moves the name and the data of the event out.
  void take(std::string& name, std::string& data) {
    name = std::exchange(name_, std::string());
    data = std::exchange(data_, std::string());
  }
  /// Returns the id of the last event that was whole, or of an earlier one.
  const std::string& last_id() const noexcept { return last_id_; }
  /// Returns the last time to wait before a new connection, in milliseconds.
  const std::optional<std::uint64_t>& retry_ms() const noexcept { return retry_ms_; }

 private:
  bool skip_mark(std::string_view& input) noexcept;
  bool take_line(std::string_view& input);
  bool end_line();
  void take_field(std::string_view name, std::string_view value);
  bool is_too_long() const noexcept;

  event_limits bounds_;
  std::string line_;  // the beginning of a line, from earlier inputs
  std::string name_, data_;
  std::string id_, last_id_;
  std::optional<std::uint64_t> retry_ms_;
  std::uint8_t mark_bytes_ = 0;  // of a byte order mark at the beginning; 3: it is over
  bool after_cr_ = false;        // a line feed would belong to the last line end
  bool is_long_ = false;
};

}  // namespace beck::http::detail
