// SPDX-License-Identifier: BSL-1.0
// The table of errors: name, close code and text of each, and the two categories.
#include <beck/websocket/error.hpp>

#include <beck/base/assert.hpp>
#include <beck/http/status.hpp>

#include <iterator>
#include <string>

namespace beck::websocket {
namespace {

struct row {
  stream_error reason;
  std::string_view name;
  close_code told;
  const char* text;
};

constexpr row rows[] = {
    {stream_error::reserved_bits, "reserved_bits", close_code::protocol_error,
     "A frame has a reserved bit"},
    {stream_error::bad_opcode, "bad_opcode", close_code::protocol_error,
     "A frame has a reserved opcode"},
    {stream_error::control_fragmented, "control_fragmented", close_code::protocol_error,
     "A control frame is fragmented"},
    {stream_error::control_too_long, "control_too_long", close_code::protocol_error,
     "A control frame is longer than 125 bytes"},
    {stream_error::length_not_minimal, "length_not_minimal", close_code::protocol_error,
     "The length of a frame is written in more bytes than it needs"},
    {stream_error::length_too_large, "length_too_large", close_code::protocol_error,
     "The length of a frame is over 2^63-1"},
    {stream_error::not_masked, "not_masked", close_code::protocol_error,
     "A frame of the client is not masked"},
    {stream_error::masked, "masked", close_code::protocol_error, "A frame of the server is masked"},
    {stream_error::unexpected_continuation, "unexpected_continuation", close_code::protocol_error,
     "A frame continues a message, and none has begun"},
    {stream_error::message_unfinished, "message_unfinished", close_code::protocol_error,
     "A message begins before another one has ended"},
    {stream_error::bad_close, "bad_close", close_code::protocol_error,
     "A close frame has one byte, or a code that must not be sent"},
    {stream_error::bad_text, "bad_text", close_code::bad_data, "A text is not UTF-8"},
    {stream_error::frame_too_long, "frame_too_long", close_code::too_big,
     "A frame is longer than limits::frame_bytes"},
    {stream_error::message_too_long, "message_too_long", close_code::too_big,
     "A message is longer than limits::message_bytes, or than the buffer may become"},
    {stream_error::too_many_control, "too_many_control", close_code::policy,
     "More frames without data in a row than limits::control_frames"},
    {stream_error::closed, "closed", close_code::none, "The WebSocket connection is closed"},
    {stream_error::cut_short, "cut_short", close_code::none,
     "The connection ended without a close frame"},
    {stream_error::pong_late, "pong_late", close_code::none,
     "Nothing came within limits::pong_timeout after a ping"},
    {stream_error::send_late, "send_late", close_code::none,
     "The peer took no byte for limits::send_timeout"},
    {stream_error::close_late, "close_late", close_code::none,
     "The peer sent no close frame within limits::close_timeout"},
    {stream_error::queue_full, "queue_full", close_code::none,
     "More bytes wait to be sent than limits::queue_bytes allows"},
    {stream_error::write_cancelled, "write_cancelled", close_code::internal_error,
     "A write was cancelled after a part of its message was sent"},
    {stream_error::no_upgrade, "no_upgrade", close_code::none,
     "The request does not ask for WebSocket"},
    {stream_error::bad_version, "bad_version", close_code::none,
     "The version of WebSocket is not 13"},
    {stream_error::bad_key, "bad_key", close_code::none,
     "Sec-WebSocket-Key is not 16 bytes in base64"},
    {stream_error::bad_origin, "bad_origin", close_code::none,
     "The origin of the page is neither the server's nor in accept_options::origins"},
    {stream_error::bad_url, "bad_url", close_code::none, "The URL does not begin with ws: or wss:"},
    {stream_error::bad_response, "bad_response", close_code::none,
     "The server's 101 does not answer the request"},
};

constexpr bool is_in_order() {
  for (unsigned i = 0; i < std::size(rows); ++i)
    if (rows[i].reason != static_cast<stream_error>(i + 1)) return false;
  return true;
}
static_assert(is_in_order(), "a row for each error, in the order of the enumeration");
static_assert(std::size(rows) == static_cast<unsigned>(stream_error::bad_response));

const row& row_of(stream_error e) noexcept {
  const auto number = static_cast<unsigned>(e);
  BECK_ASSERT(number >= 1 && number <= std::size(rows), "not a value of stream_error");
  return rows[number - 1];
}

class stream_category_type final : public std::error_category {
 public:
  constexpr stream_category_type() noexcept = default;
  const char* name() const noexcept override { return "beck.websocket"; }
  std::string message(int value) const override {
    if (value < 1 || value > static_cast<int>(std::size(rows)))
      return "Unknown error " + std::to_string(value);
    return row_of(static_cast<stream_error>(value)).text;
  }
  std::error_condition default_error_condition(int value) const noexcept override {
    const auto e = static_cast<stream_error>(value);
    if (e >= stream_error::reserved_bits && e <= stream_error::bad_text)
      return std::errc::protocol_error;
    if (e == stream_error::frame_too_long || e == stream_error::message_too_long)
      return std::errc::message_size;
    if (e == stream_error::pong_late || e == stream_error::send_late ||
        e == stream_error::close_late)
      return std::errc::timed_out;
    if (e == stream_error::cut_short) return std::errc::connection_reset;
    return {value, *this};
  }
};

class rejection_category_type final : public std::error_category {
 public:
  constexpr rejection_category_type() noexcept = default;
  const char* name() const noexcept override { return "beck.websocket.rejection"; }
  std::string message(int value) const override {
    std::string text = "The server answered " + std::to_string(value);
    const std::string_view reason = http::reason_of(static_cast<http::status>(value));
    if (!reason.empty()) text.append(" ").append(reason);
    return text.append(" instead of 101 Switching Protocols");
  }
};

// Constant-initialised and never destroyed, because static destructors may compare codes, too.
template <class Category>
union storage {
  Category value;
  constexpr storage() noexcept : value() {}
  ~storage() {}
};
constinit storage<stream_category_type> stream_category_object;
constinit storage<rejection_category_type> rejection_category_object;

}  // namespace

const std::error_category& stream_category() noexcept { return stream_category_object.value; }

const std::error_category& rejection_category() noexcept { return rejection_category_object.value; }

std::string_view functions::name_of(stream_error e) noexcept { return row_of(e).name; }

close_code functions::code_for(stream_error e) noexcept { return row_of(e).told; }

}  // namespace beck::websocket
