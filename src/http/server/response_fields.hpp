// SPDX-License-Identifier: BSL-1.0
// Setting the fields of a response: those that the server writes itself are refused.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <beck/http/field.hpp>

#include "http/message/field_lines.hpp"

namespace beck::http::detail {

/// Adds a field. Throws as response::add().
inline void add_field(field_lines& to, field f, std::string_view name, std::string_view value) {
  if (f == field::content_length || f == field::transfer_encoding || f == field::connection ||
      f == field::date)
    throw std::invalid_argument("http: the server writes the field " + std::string(name));
  if (f == field::other) {
    to.add(name, value);
  } else {
    to.add(f, name, value);
  }
}

/// Sets a field, in place of those of the same name. Throws as response::set().
inline void set_field(field_lines& to, field f, std::string_view name, std::string_view value) {
  if (to.may_have(f)) to.remove(name);
  add_field(to, f, name, value);
}
inline void set_field(field_lines& to, field f, std::string_view value) {
  set_field(to, f, name_of(f), value);
}

}  // namespace beck::http::detail
