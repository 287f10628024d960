// SPDX-License-Identifier: BSL-1.0
//
// The route of a request, as middlewares and handlers see it: its pattern, and the values that the
// program has given it.
#pragma once

#include <new>
#include <string_view>
#include <type_traits>

namespace beck::http {

namespace detail {

struct exchange_state;

}  // namespace detail

/// A value of a route, which route_key makes.
class route_value {
 public:
  /// The greatest size of a value, in bytes.
  static constexpr std::size_t bytes_max = 16;

  /// Makes one without a key, which no route_key finds.
  constexpr route_value() noexcept = default;

 private:
  template <class T>
  friend class route_key;
  friend class route_view;

  const void* key_ = nullptr;
  alignas(void*) unsigned char bytes_[bytes_max] = {};
};

/// The key of a value that routes carry, such as the role that may use them. The object is the key,
/// so it is neither copied nor moved; it outlives the routers, best as a constant of a namespace:
///   constinit const http::route_key<bool> is_public;
///   site.get("/health", answer, {.values = {is_public(true)}});
///   if (q.route().get(is_public) != nullptr) return next(q, r);
/// A value is small and trivially copyable: a number, an enumeration, a std::string_view of a
/// literal, a pointer to an object that outlives the router. Thread: any.
template <class T>
class route_key {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= route_value::bytes_max &&
                    alignof(T) <= alignof(void*),
                "a value of a route is trivially copyable, and has at most 16 bytes");

 public:
  constexpr route_key() noexcept = default;
  route_key(const route_key&) = delete;
  route_key& operator=(const route_key&) = delete;

  /// Returns a value for route_options::values.
  route_value operator()(T value) const noexcept {
    route_value made;
    made.key_ = this;
    ::new (static_cast<void*>(made.bytes_)) T(value);
    return made;
  }

 private:
  [[maybe_unused]] char identity_ = 0;  // an empty member could share its address with another key
};

/// The route of a request. A value that refers to the request, and lives as long.
/// Thread: that of the handler.
class route_view {
 public:
  explicit route_view(detail::exchange_state& of) noexcept : of_(&of) {}

  /// Returns false if the router or the server answers by itself: 404, 405, 400, 413, OPTIONS; else
  /// a handler of the program answers, unless a middleware does. The handler of a server without a
  /// router counts as such, and so does router::otherwise().
  explicit operator bool() const noexcept;
  /// Returns the pattern of the route, with the prefixes of all routers, such as
  /// "/api/rows/{table}". Of router::mount() and router::otherwise() it returns the prefixes only;
  /// without a router, and without a route, an empty text. Valid until the exchange ends. Throws
  /// std::bad_alloc.
  std::string_view pattern() const;
  /// Returns the value that the route has for `key`, else that of the nearest mount() around it;
  /// nullptr if there is none. Valid as long as the router.
  template <class T>
  const T* get(const route_key<T>& key) const noexcept {
    const route_value* const found = find(&key);
    if (found == nullptr) return nullptr;
    return std::launder(reinterpret_cast<const T*>(found->bytes_));
  }

 private:
  const route_value* find(const void* key) const noexcept;
  static const void* key_of(const route_value& value) noexcept { return value.key_; }

  detail::exchange_state* of_;
};

}  // namespace beck::http
