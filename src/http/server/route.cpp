// SPDX-License-Identifier: BSL-1.0
// The route of a request, from the routers that have chosen it.
#include <beck/http/route.hpp>

#include <string>

#include "http/server/exchange_state.hpp"
#include "http/server/route_table.hpp"

namespace beck::http {
namespace {

/// Returns the prefixes of all but the last route, and the pattern of that.
std::string join_patterns(const detail::route_match& match) {
  std::string text;
  for (const detail::route* one : match.routes()) {
    if (!text.empty() && text.back() == '/') text.pop_back();
    text += one->pattern;
  }
  return text;
}

}  // namespace

route_view::operator bool() const noexcept { return !of_->handler.route.is_answer(); }

std::string_view route_view::pattern() const {
  const detail::route_match& match = of_->handler.route;
  if (match.is_answer() || match.routes().empty()) return {};
  const detail::route* const last = match.routes().back();
  if (match.routes().size() == 1) return last->pattern;
  using text = detail::value_of_slot<std::string>;
  if (auto* const known = of_->values.find(last)) return static_cast<text*>(known)->value;
  auto* const made = new text(last, join_patterns(match));
  of_->values.add(made);
  return made->value;
}

const route_value* route_view::find(const void* key) const noexcept {
  const auto routes = of_->handler.route.routes();
  for (std::size_t i = routes.size(); i != 0; --i) {
    for (const route_value& one : routes[i - 1]->values)
      if (key_of(one) == key) return &one;
  }
  return nullptr;
}

}  // namespace beck::http
