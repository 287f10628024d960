// SPDX-License-Identifier: BSL-1.0
//
// Values that middlewares and handlers pass to each other, such as the user of a request.
#pragma once

#include <beck/detail/block.hpp>
#include <beck/http/request.hpp>
#include <cstddef>

namespace beck::http {

namespace detail {

/// A value of an exchange, which owns it.
struct kept_value {
  kept_value(const void* of, void (*with)(kept_value*) noexcept) noexcept
      : key(of), destroy(with) {}
  kept_value(const kept_value&) = delete;
  kept_value& operator=(const kept_value&) = delete;
  static void* operator new(std::size_t bytes) { return beck::detail::allocate_block(bytes); }
  static void operator delete(void* block) noexcept { beck::detail::free_block(block); }

  const void* key;
  void (*destroy)(kept_value* self) noexcept;
  kept_value* next = nullptr;
};

template <class T>
struct value_of_slot final : kept_value {
  static_assert(alignof(T) <= 16, "recycled blocks are aligned to 16");

  value_of_slot(const void* of, T&& given)
      : kept_value(of, [](kept_value* self) noexcept { delete static_cast<value_of_slot*>(self); }),
        value(static_cast<T&&>(given)) {}

  T value;
};

/// Adds a value to the exchange of `q`; destroys one of the same key.
void keep_value(request& q, kept_value* made) noexcept;
/// Returns the value of a key; nullptr if there is none.
kept_value* find_value(const request& q, const void* key) noexcept;

}  // namespace detail

/// A place for one value in each exchange. The object is the key, so it is neither copied nor
/// moved; it outlives its uses, best as a constant of a namespace:
///   constinit const http::slot<user> asking;
///   asking.put(q, std::move(found));                       // a middleware
///   r.send(asking.get(q)->name);                           // the handler behind it
/// Thread: that of the handler. Memory: a recycled block for each value.
template <class T>
class slot {
 public:
  constexpr slot() noexcept = default;
  slot(const slot&) = delete;
  slot& operator=(const slot&) = delete;

  /// Puts `value` into the exchange of `q`. Replaces an earlier one, which is destroyed. The values
  /// are destroyed when the exchange has ended, the last one first. Throws std::bad_alloc; the
  /// earlier value then stays.
  T& put(request& q, T value) const {
    auto* const made = new detail::value_of_slot<T>(this, static_cast<T&&>(value));
    detail::keep_value(q, made);
    return made->value;
  }
  /// Returns the value; nullptr if there is none.
  T* get(const request& q) const noexcept {
    detail::kept_value* const found = detail::find_value(q, this);
    return found != nullptr ? &static_cast<detail::value_of_slot<T>*>(found)->value : nullptr;
  }

 private:
  [[maybe_unused]] char identity_ = 0;  // an empty member could share its address with another slot
};

}  // namespace beck::http
