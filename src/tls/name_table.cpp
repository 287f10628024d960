// SPDX-License-Identifier: BSL-1.0
// The table, and the parser of the extension that holds a name.
#include "tls/identity.hpp"

namespace beck::tls::detail {
namespace {

std::string lower_case(std::string_view text) {
  std::string made(text);
  for (char& c : made) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return made;
}

/// Takes a number of two bytes. Returns false if fewer bytes than this number follow.
bool take_length(std::string_view& left, std::size_t& length) noexcept {
  if (left.size() < 2) return false;
  length =
      (static_cast<std::size_t>(left[0]) & 0xff) << 8 | (static_cast<std::size_t>(left[1]) & 0xff);
  left.remove_prefix(2);
  return left.size() >= length;
}

}  // namespace

void name_table::add(std::string_view name, std::size_t index) {
  if (name.starts_with("*.")) {
    below_.insert_or_assign(lower_case(name.substr(2)), index);
  } else if (!name.empty()) {
    exact_.insert_or_assign(lower_case(name), index);
  }
}

std::size_t name_table::find(std::string_view asked) const {
  if (asked.ends_with('.')) asked.remove_suffix(1);
  const std::string name = lower_case(asked);
  if (const auto at = exact_.find(name); at != exact_.end()) return at->second;
  const std::size_t dot = name.find('.');
  if (dot == 0 || dot == std::string::npos) return none;
  const auto at = below_.find(std::string_view(name).substr(dot + 1));
  return at != below_.end() ? at->second : none;
}

std::string_view server_name_in(const unsigned char* extension, std::size_t bytes) noexcept {
  constexpr std::size_t name_bytes_max = 255;
  std::string_view left(reinterpret_cast<const char*>(extension), bytes);
  std::size_t length = 0;
  if (!take_length(left, length) || left.size() != length) return {};
  if (left.empty() || left[0] != 0) return {};  // host_name is the only kind
  left.remove_prefix(1);
  if (!take_length(left, length) || length == 0 || length > name_bytes_max) return {};
  const std::string_view name = left.substr(0, length);
  return name.find('\0') == std::string_view::npos ? name : std::string_view();
}

}  // namespace beck::tls::detail
