// SPDX-License-Identifier: BSL-1.0
// Replacing a field is a search in the text.
#include "http/message/field_lines.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <beck/base/assert.hpp>

#include "http/message/characters.hpp"

namespace beck::http::detail {
void field_lines::add(std::string_view name, std::string_view value) {
  if (!is_token(name))
    throw std::invalid_argument("http: not a field name: \"" + std::string(name) + '"');
  add_line(name, value);
}

void field_lines::add_line(std::string_view name, std::string_view value) {
  if (!is_field_value(value))
    throw std::invalid_argument("http: a control character in the value of " + std::string(name));
  const std::string_view present = text();
  const std::size_t bytes = name.size() + value.size() + 4;
  if (bytes > bytes_max || present.size() > bytes_max - bytes)
    throw std::length_error("http: more than 16384 bytes of fields, with " + std::string(name));
  if (more_.empty() && bytes <= sizeof room_ - bytes_) {
    char* at = room_ + bytes_;
    const auto put = [&at](std::string_view part) {
      if (!part.empty()) std::memcpy(at, part.data(), part.size());
      at += part.size();
    };
    put(name);
    put(": ");
    put(value);
    put("\r\n");
    bytes_ += bytes;
    BECK_ASSERT(at == room_ + bytes_ && bytes_ <= sizeof room_, "a field has another length");
    return;
  }
  if (more_.empty()) {
    std::string all;
    all.reserve(std::max(2 * sizeof room_, present.size() + bytes));
    all.append(present);
    more_ = std::move(all);
    bytes_ = 0;
  } else if (bytes > more_.capacity() - more_.size()) {
    more_.reserve(std::max(2 * more_.size(), more_.size() + bytes));
  }
  more_.append(name).append(": ").append(value).append("\r\n");  // there is room: no exception
}

bool field_lines::has(std::string_view name) const noexcept {
  std::string_view left = text();
  while (!left.empty()) {
    if (equal_in_any_case(left.substr(0, left.find(':')), name)) return true;
    left.remove_prefix(left.find('\n') + 1);
  }
  return false;
}

void field_lines::remove(std::string_view name) noexcept {
  std::string_view left = text();
  char* to = more_.empty() ? room_ : more_.data();
  char* const begin = to;
  while (!left.empty()) {
    const std::size_t line = left.find('\n') + 1;
    BECK_ASSERT(line != 0, "a line of a field without its end");
    if (!equal_in_any_case(left.substr(0, left.find(':')), name)) {
      if (to != left.data()) std::memmove(to, left.data(), line);
      to += line;
    }
    left.remove_prefix(line);
  }
  const auto bytes = static_cast<std::size_t>(to - begin);
  if (more_.empty()) {
    bytes_ = bytes;
  } else {
    more_.resize(bytes);
  }
}

}  // namespace beck::http::detail
