// SPDX-License-Identifier: BSL-1.0
// Values as text for debugging, written twice: once to count, once to keep. The depth of a value is
// bounded by that of tokens, so a stack of that size is enough.
#include <beck/redis/value.hpp>

#include <limits>

#include <beck/base/assert.hpp>

#include "redis/protocol/number_text.hpp"

namespace beck::redis::detail {
namespace {

constexpr std::size_t levels_max = std::numeric_limits<std::uint8_t>::max() + 2;

/// Counts all bytes and keeps those that there is room for.
class text_counter {
 public:
  text_counter(char* to, std::size_t room) noexcept : to_(to), room_(room) {}

  void add(char c) noexcept {
    if (bytes_ < room_) to_[bytes_] = c;
    ++bytes_;
  }
  void add(std::string_view text) noexcept {
    for (const char c : text) add(c);
  }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  char* to_;
  std::size_t room_;
  std::size_t bytes_ = 0;
};

void add_quoted(text_counter& to, std::string_view text) noexcept {
  to.add('"');
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      to.add('\\');
      to.add(c);
    } else if (byte >= 0x20 && byte < 0x7f) {
      to.add(c);
    } else {
      to.add("\\x");
      to.add("0123456789abcdef"[byte >> 4]);
      to.add("0123456789abcdef"[byte & 15]);
    }
  }
  to.add('"');
}

std::string_view opening(data_type type) noexcept {
  if (type == data_type::map) return "{";
  if (type == data_type::attribute) return "|{";
  if (type == data_type::set) return "~[";
  return type == data_type::push ? ">[" : "[";
}

bool has_pairs(data_type type) noexcept {
  return type == data_type::map || type == data_type::attribute;
}

void add_scalar(text_counter& to, const value_item& item) noexcept {
  const data_type type = item.type();
  if (type == data_type::null) return to.add("null");
  if (type == data_type::integer) return to.add(number_text(item.integer()).view());
  if (type == data_type::boolean) return to.add(item.integer() != 0 ? "true" : "false");
  if (type == data_type::double_number) return to.add(number_text(item.real()).view());
  if (type == data_type::big_number) return to.add(item.text());
  if (item.is_error()) to.add('!');
  if (type == data_type::verbatim) {
    to.add(item.format());
    to.add(':');
  }
  add_quoted(to, item.text());
}

/// An aggregate that is being written.
struct level {
  data_type type = data_type::null;
  std::size_t size = 0;
  std::size_t written = 0;
};

/// Writes the comma or colon before an element.
void add_separator(text_counter& to, const level& around) noexcept {
  if (around.written == 0) return;
  to.add(has_pairs(around.type) && around.written % 2 != 0 ? ": " : ", ");
}

}  // namespace

std::size_t write_text(const value_item& item, char* to, std::size_t room) noexcept {
  text_counter text(to, room);
  level levels[levels_max];
  std::size_t depth = 0;
  bool is_attributed = false;
  node_walk walk(item);
  for (;;) {
    // Ends the aggregates that are complete. The element that an attribute describes follows it.
    while (depth != 0 && levels[depth].written == levels[depth].size) {
      const data_type ended = levels[depth--].type;
      text.add(has_pairs(ended) ? '}' : ']');
      is_attributed = ended == data_type::attribute;
      if (is_attributed) {
        text.add(' ');
      } else {
        ++levels[depth].written;
      }
    }
    if (walk.is_at_end()) return text.bytes();
    const value_item next = walk.next();
    if (!is_attributed) add_separator(text, levels[depth]);
    is_attributed = false;
    if (is_aggregate(next.type())) {
      text.add(opening(next.type()));
      BECK_ASSERT(depth + 1 < levels_max, "a value is deeper than tokens can be");
      levels[++depth] = {next.type(), next.size(), 0};
    } else {
      add_scalar(text, next);
      ++levels[depth].written;
    }
  }
}

}  // namespace beck::redis::detail
