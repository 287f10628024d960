// SPDX-License-Identifier: BSL-1.0
// Fields of all responses, set immediately before the head.
#include <beck/http/middlewares.hpp>
#include <beck/http/response.hpp>

#include "http/server/response_fields.hpp"

namespace beck::http {

add_fields::add_fields(std::initializer_list<field> all) {
  for (const auto& [name, value] : all) {
    detail::field_lines checked;
    detail::add_field(checked, to_field(name), name, value);
    texts_.append(name).append("\n").append(value).append("\n");
  }
}

pending add_fields::operator()(request& q, response& r, next rest) const {
  r.before_head([self = this](request&, response& head) {
    std::string_view left = self->texts_;
    const auto take = [&left] {
      const std::string_view line = left.substr(0, left.find('\n'));
      left.remove_prefix(line.size() + 1);
      return line;
    };
    while (!left.empty()) {
      const std::string_view name = take(), value = take();
      if (!head.has(name)) head.add(name, value);
    }
  });
  return rest(q, r);
}

}  // namespace beck::http
