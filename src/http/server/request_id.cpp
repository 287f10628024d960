// SPDX-License-Identifier: BSL-1.0
// The id of a request is a value of its exchange.
#include <beck/http/request_id.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

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

/// The random bytes of the next ids of a context. A call of the system takes longer than all the
/// rest of the middleware. Ids are no secrets.
class id_bytes {
 public:
  static constexpr std::size_t id_size = 16;

  /// Returns the bytes of an id, until the next call.
  const unsigned char* take(const any_io_executor& on) noexcept {
    if (at_ == bytes_.size()) {
      random_bytes(on, {bytes_.data(), bytes_.size()});
      at_ = 0;
    }
    return bytes_.data() + std::exchange(at_, at_ + id_size);
  }

 private:
  std::array<unsigned char, 32 * id_size> bytes_;
  std::size_t at_ = bytes_.size();
};

std::string random_id(const request& q) {
  constexpr char digits[] = "0123456789abcdef";
  exchange_port& port = *state_of(q).port;
  std::shared_ptr<void>& kept = port.local(&id_slot);
  if (kept == nullptr) kept = std::make_shared<id_bytes>();
  const unsigned char* const bytes = static_cast<id_bytes*>(kept.get())->take(port.executor());
  std::string made(2 * id_bytes::id_size, '0');
  for (std::size_t i = 0; i < id_bytes::id_size; ++i) {
    made[2 * i] = digits[bytes[i] >> 4U];
    made[2 * i + 1] = digits[bytes[i] & 15U];
  }
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
  detail::id_slot.put(q, detail::is_good(given) ? std::string(given) : detail::random_id(q));
  r.before_head([](request& asked, response& head) { head.set(detail::field_name, asked.id()); });
  return rest(q, r);
}

}  // namespace beck::http
