// SPDX-License-Identifier: BSL-1.0
// The tables of errors and of types, and the category.
#include <beck/redis/error.hpp>

#include <beck/redis/resp3.hpp>

#include <iterator>
#include <string>

namespace beck::redis {
namespace {

struct row {
  protocol_error reason;
  std::string_view name;
  const char* text;
};

constexpr row reason_rows[] = {
    {protocol_error::unknown_type, "unknown_type",
     "The Redis server sent an element of an unknown type"},
    {protocol_error::bad_digit, "bad_digit",
     "The Redis server sent a number that is not written in digits"},
    {protocol_error::number_too_large, "number_too_large",
     "The Redis server sent a number that is out of range"},
    {protocol_error::bad_length, "bad_length", "The Redis server sent a negative length"},
    {protocol_error::bad_line_end, "bad_line_end",
     "The Redis server sent a line that does not end with CR LF"},
    {protocol_error::bad_text_end, "bad_text_end",
     "The Redis server sent a text that has another length than announced"},
    {protocol_error::bad_null, "bad_null", "The Redis server sent a malformed null"},
    {protocol_error::bad_boolean, "bad_boolean", "The Redis server sent a malformed boolean"},
    {protocol_error::bad_double, "bad_double", "The Redis server sent a malformed double"},
    {protocol_error::bad_verbatim, "bad_verbatim",
     "The Redis server sent a verbatim text without a format"},
    {protocol_error::unexpected_part, "unexpected_part",
     "The Redis server sent a part of a streamed string outside one, or something else inside one"},
    {protocol_error::unexpected_end, "unexpected_end",
     "The Redis server ended a streamed aggregate, and none has begun"},
    {protocol_error::odd_map, "odd_map", "The Redis server sent a map with a key without a value"},
    {protocol_error::dangling_attribute, "dangling_attribute",
     "The Redis server sent an attribute without an element behind it"},
    {protocol_error::unexpected_push, "unexpected_push",
     "The Redis server sent a push inside a reply"},
    {protocol_error::unexpected_reply, "unexpected_reply",
     "The Redis server sent a reply for which no command waits"},
    {protocol_error::failed_guard, "failed_guard",
     "The Redis server answered the ECHO of client_options::guard_commands with another "
     "reply: replies are out of step"},
    {protocol_error::line_too_long, "line_too_long",
     "The Redis server sent a line that is longer than parse_limits::line_bytes"},
    {protocol_error::too_deep, "too_deep",
     "The Redis server sent aggregates nested deeper than parse_limits::depth"},
    {protocol_error::too_many_elements, "too_many_elements",
     "The Redis server sent a reply with more elements than parse_limits::elements"},
    {protocol_error::reply_too_large, "reply_too_large",
     "The Redis server sent a reply that is larger than parse_limits::reply_bytes"},
    {protocol_error::push_too_large, "push_too_large",
     "The Redis server sent a push that is larger than parse_limits::push_bytes"},
};

constexpr bool is_in_order() {
  for (unsigned i = 0; i < std::size(reason_rows); ++i)
    if (reason_rows[i].reason != static_cast<protocol_error>(i + 1)) return false;
  return true;
}
static_assert(is_in_order(), "a row for each error, in the order of the enumeration");
static_assert(std::size(reason_rows) == static_cast<unsigned>(protocol_error::push_too_large));

class category_type final : public std::error_category {
 public:
  constexpr category_type() noexcept = default;
  const char* name() const noexcept override { return "beck.redis.protocol"; }
  std::string message(int value) const override {
    if (value < 1 || value > static_cast<int>(std::size(reason_rows)))
      return "Unknown error " + std::to_string(value);
    return reason_rows[value - 1].text;
  }
  std::error_condition default_error_condition(int value) const noexcept override {
    if (value >= static_cast<int>(protocol_error::line_too_long)) return std::errc::message_size;
    return std::errc::protocol_error;
  }
};

// Constant-initialised and never destroyed: codes are also compared in static destructors.
union storage {
  category_type value;
  constexpr storage() noexcept : value() {}
  ~storage() {}
};
constinit storage category_object;

constexpr std::string_view type_names[] = {
    "null",          "simple_string", "simple_error", "integer",  "bulk_string", "boolean",
    "double_number", "big_number",    "bulk_error",   "verbatim", "array",       "set",
    "map",           "attribute",     "push",         "end",
};
static_assert(std::size(type_names) == static_cast<unsigned>(data_type::end) + 1);

}  // namespace

const std::error_category& protocol_category() noexcept { return category_object.value; }

std::string_view functions::name_of(protocol_error e) noexcept {
  return reason_rows[static_cast<unsigned>(e) - 1].name;
}

std::string_view functions::name_of(data_type type) noexcept {
  return type_names[static_cast<unsigned>(type)];
}

}  // namespace beck::redis
