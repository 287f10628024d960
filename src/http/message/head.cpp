// SPDX-License-Identifier: BSL-1.0
// Finds fields of a head: values by name, tokens in lists.
#include <beck/http/head.hpp>

#include "http/message/characters.hpp"

namespace beck::http {

std::string_view head::get(field f) const noexcept {
  if (!has(f)) return {};
  unsigned i = 0;
  while (entries_[i].id != f) ++i;
  return (*this)[i].value;
}

std::string_view head::get(std::string_view name) const noexcept {
  for (const field_view f : *this)
    if (detail::equal_in_any_case(f.name, name)) return f.value;
  return {};
}

bool head::lists(field f, std::string_view token) const noexcept {
  if (!has(f)) return false;
  for (const field_view each : *this) {
    if (each.id != f) continue;
    std::string_view rest = each.value;
    while (!rest.empty())
      if (detail::equal_in_any_case(detail::take_element(rest), token)) return true;
  }
  return false;
}

void head::clear() noexcept {
  known_ = repeated_ = content_length_ = 0;
  count_ = bytes_ = 0;
  framing_ = body_framing::none;
  expects_continue_ = false;
  keeps_alive_ = true;
  minor_version_ = 1;
  method_ = method::other;
  status_ = status::ok;
  method_bytes_ = 0;
  line_at_ = target_at_ = target_bytes_ = 0;
}

}  // namespace beck::http
