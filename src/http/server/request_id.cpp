// SPDX-License-Identifier: BSL-1.0
// The id of a request is a value of its exchange.
#include <beck/http/request_id.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include <beck/http/slot.hpp>
#include <beck/io/context_services.hpp>

#include "http/message/characters.hpp"
#include "http/server/exchange_state.hpp"

namespace beck::http {
namespace detail {
namespace {

constexpr std::string_view field_name = "X-Request-ID";
constexpr std::size_t given_max = 64;

constinit const slot<std::string> id_slot;

/// Returns whether an id of a client may go into logs and fields of other services.
bool is_good(std::string_view id) noexcept {
  if (id.empty() || id.size() > given_max) return false;
  return std::all_of(id.begin(), id.end(), &is_unreserved);
}

std::string random_id(const any_io_executor& on) {
  constexpr char digits[] = "0123456789abcdef";
  std::array<unsigned char, 16> bytes;
  random_bytes(on, {bytes.data(), bytes.size()});
  std::string made;
  for (const unsigned char one : bytes) (made += digits[one >> 4U]) += digits[one & 15U];
  return made;
}

}  // namespace

std::string_view id_of(const exchange_state& of) noexcept {
  const auto* const found = static_cast<value_of_slot<std::string>*>(of.values.find(&id_slot));
  return found != nullptr ? std::string_view(found->value) : std::string_view();
}

}  // namespace detail

pending request_id::operator()(request& q, response& r, next rest) const {
  const std::string_view given = q.get(detail::field_name);
  detail::id_slot.put(
      q, detail::is_good(given) ? std::string(given) : detail::random_id(q.get_executor()));
  r.before_head([](request& asked, response& head) { head.set(detail::field_name, asked.id()); });
  return rest(q, r);
}

}  // namespace beck::http
