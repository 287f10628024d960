// SPDX-License-Identifier: BSL-1.0
// Entity tags, their lists and comparison. A tag may have commas within its quotes, so lists are
// read tag by tag.
#include <beck/http/entity_tag.hpp>

#include <charconv>

#include "http/message/characters.hpp"

namespace beck::http {
namespace {

/// Removes an entity tag from the beginning of `rest`; returns whether there was one.
bool take_tag(std::string_view& rest, entity_tag& to) noexcept {
  const bool is_weak = rest.substr(0, 2) == "W/";
  const std::string_view from = rest.substr(is_weak ? 2 : 0);
  if (from.substr(0, 1) != "\"") return false;
  const std::size_t end = from.find('"', 1);
  if (end == std::string_view::npos) return false;
  const std::string_view text = from.substr(0, end + 1);
  for (const char c : text)
    if (detail::is_control(c) || c == ' ') return false;
  to = {text, is_weak};
  rest = from.substr(end + 1);
  return true;
}

}  // namespace

bool functions::parse_entity_tag(std::string_view text, entity_tag& to) noexcept {
  entity_tag found;
  if (!take_tag(text, found) || !text.empty()) return false;
  to = found;
  return true;
}

bool functions::is_equal(const entity_tag& a, const entity_tag& b, tag_comparison how) noexcept {
  if (how == tag_comparison::strong && (a.is_weak || b.is_weak)) return false;
  return !a.text.empty() && a.text == b.text;
}

tag_match functions::match_tags(std::string_view list, const entity_tag& tag,
                                tag_comparison how) noexcept {
  if (list == "*") return tag_match::any;
  bool is_found = false;
  bool is_empty = true;
  bool is_behind_tag = false;  // a comma must come before the next one
  for (;;) {
    list = detail::trimmed(list);
    if (list.empty()) break;
    if (list[0] == ',') {
      list.remove_prefix(1);
      is_behind_tag = false;
      continue;
    }
    entity_tag each;
    if (is_behind_tag || !take_tag(list, each)) return tag_match::malformed;
    is_found = is_found || is_equal(each, tag, how);
    is_behind_tag = true;
    is_empty = false;
  }
  if (is_empty) return tag_match::malformed;
  return is_found ? tag_match::found : tag_match::none;
}

file_tag::file_tag(std::uint64_t size, std::int64_t changed_ns, std::uint64_t inode,
                   bool is_weak) noexcept {
  char* at = text_;
  const auto put_number = [&](std::uint64_t number) {
    at = std::to_chars(at, text_ + sizeof text_, number, 16).ptr;
  };
  if (is_weak) {
    *at++ = 'W';
    *at++ = '/';
  }
  *at++ = '"';
  put_number(size);
  *at++ = '-';
  put_number(static_cast<std::uint64_t>(changed_ns));
  *at++ = '-';
  put_number(inode);
  *at++ = '"';
  bytes_ = static_cast<std::uint8_t>(at - text_);
}

}  // namespace beck::http
