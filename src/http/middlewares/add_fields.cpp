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
    texts_.emplace_back(name);
    texts_.emplace_back(value);
  }
}

pending add_fields::operator()(request& q, response& r, next rest) const {
  r.before_head([self = this](request&, response& head) {
    for (std::size_t i = 0; i < self->texts_.size(); i += 2)
      if (!head.has(self->texts_[i])) head.set(self->texts_[i], self->texts_[i + 1]);
  });
  return rest(q, r);
}

}  // namespace beck::http
