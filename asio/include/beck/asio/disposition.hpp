// SPDX-License-Identifier: BSL-1.0
// Dispositions: an error_code or a std::exception_ptr that says how an operation ended, and a token
// that stores it.
#pragma once

#include <concepts>
#include <exception>
#include <type_traits>
#include <utility>

#include <beck/asio/config.hpp>
#include <beck/asio/error.hpp>
#include <beck/asio/token.hpp>

BECK_ASIO_BEGIN

/// How a class says how an operation ended: with not_an_error(), throw_exception() and
/// to_exception_ptr(). May be specialised.
template <class T>
struct disposition_traits;
/// That of an error code.
template <>
struct disposition_traits<beck::error_code> {
  /// Returns whether it says success.
  static bool not_an_error(const beck::error_code& ec) noexcept { return !ec; }
  /// Throws the error as a system_error.
  [[noreturn]] static void throw_exception(const beck::error_code& ec) { throw system_error(ec); }
  /// Returns an exception with the error; null if it says success.
  static std::exception_ptr to_exception_ptr(const beck::error_code& ec) noexcept {
    return ec ? std::make_exception_ptr(system_error(ec)) : nullptr;
  }
};
/// That of an exception.
template <>
struct disposition_traits<std::exception_ptr> {
  /// Returns whether there is none.
  static bool not_an_error(const std::exception_ptr& error) noexcept { return error == nullptr; }
  /// Throws it.
  [[noreturn]] static void throw_exception(std::exception_ptr error) {
    std::rethrow_exception(std::move(error));
  }
  /// Returns it.
  static std::exception_ptr to_exception_ptr(std::exception_ptr error) noexcept { return error; }
};

/// A class with disposition_traits.
template <class T>
concept disposition =
    std::is_nothrow_default_constructible_v<T> && std::is_nothrow_move_constructible_v<T> &&
    std::is_nothrow_move_assignable_v<T> && requires(const T& one) {
      { disposition_traits<T>::not_an_error(one) } -> std::same_as<bool>;
      { disposition_traits<T>::to_exception_ptr(one) } -> std::same_as<std::exception_ptr>;
      disposition_traits<T>::throw_exception(one);
    };
/// Whether T is one.
template <class T>
struct is_disposition : std::bool_constant<disposition<T>> {};
/// Whether T is one.
template <class T>
inline constexpr bool is_disposition_v = disposition<T>;

/// Compares equal to a disposition that says success.
struct no_error_t {
  friend constexpr bool operator==(no_error_t, no_error_t) noexcept { return true; }
  template <disposition D>
  friend bool operator==(const D& how, no_error_t) noexcept {
    return disposition_traits<D>::not_an_error(how);
  }
};
/// The object.
inline constexpr no_error_t no_error{};

/// Returns an exception with the error; null if it says success.
template <class D>
  requires disposition<std::decay_t<D>>
std::exception_ptr to_exception_ptr(D&& how) noexcept {
  return disposition_traits<std::decay_t<D>>::to_exception_ptr(static_cast<D&&>(how));
}
/// Throws the error.
template <class D>
  requires disposition<std::decay_t<D>>
[[noreturn]] void throw_exception(D&& how) {
  disposition_traits<std::decay_t<D>>::throw_exception(static_cast<D&&>(how));
  std::terminate();
}

namespace facade {

/// Whether a place takes the dispositions of an operation: those of its class, and an exception_ptr
/// all.
template <class Place, class First>
inline constexpr bool takes_disposition =
    std::is_same_v<Place, First> ||
    (std::is_same_v<Place, std::exception_ptr> && disposition<First>);

template <class Place, class D>
void store(Place& place, D&& how) {
  if constexpr (std::is_same_v<Place, std::decay_t<D>>) {
    place = static_cast<D&&>(how);
  } else {
    place = BECK_ASIO::to_exception_ptr(static_cast<D&&>(how));
  }
}

/// The signature without a disposition for the place; unchanged if it has none.
template <class Place, class Signature>
struct behind_disposition {
  static constexpr bool is_stored = false;
  using signature = Signature;
};
template <class Place, class First, class... A>
  requires takes_disposition<Place, std::decay_t<First>>
struct behind_disposition<Place, void(First, A...)> {
  static constexpr bool is_stored = true;
  using stored = std::decay_t<First>;
  using signature = void(A...);
};

/// Stores the disposition, then calls the handler with the other results.
template <class Handler, class Place, class First>
class storing_handler {
 public:
  storing_handler(Handler&& handler, Place& place) : handler_(std::move(handler)), place_(&place) {}
  const Handler& wrapped_handler() const noexcept { return handler_; }
  template <class... A>
  void operator()(First how, A&&... results) {
    facade::store(*place_, static_cast<First&&>(how));
    static_cast<Handler&&>(handler_)(static_cast<A&&>(results)...);
  }

 private:
  Handler handler_;
  Place* place_;
};

/// The adapter of the token; see beck/detail/token_adapter.hpp.
template <class Place>
class disposition_adapter {
 public:
  template <class Signature>
  using signature = typename behind_disposition<Place, Signature>::signature;
  template <class Signature>
  static constexpr bool maps_result = false;

  explicit disposition_adapter(Place& place) noexcept : place_(&place) {}
  template <class Signature, class H>
  auto adapt(H&& handler) const {
    using form = behind_disposition<Place, Signature>;
    if constexpr (form::is_stored) {
      using storing = storing_handler<std::decay_t<H>, Place, typename form::stored>;
      return storing(std::decay_t<H>(static_cast<H&&>(handler)), *place_);
    } else {
      return std::decay_t<H>(static_cast<H&&>(handler));
    }
  }

 private:
  Place* place_;
};

}  // namespace facade

/// The type that redirect_disposition() returns.
template <class Token, class Place>
using redirect_disposition_t =
    beck::detail::token_adapter<facade::disposition_adapter<Place>, Token>;

/// Returns a token that stores the disposition of the operation, the first of its results, in
/// `place`, and passes the others to `token`. An operation whose first result is none for the place
/// passes all. Requires that `place` lives until then.
template <class Token, disposition Place>
redirect_disposition_t<std::decay_t<Token>, Place> redirect_disposition(Token&& token,
                                                                        Place& place) {
  return {facade::disposition_adapter<Place>(place), static_cast<Token&&>(token)};
}
/// As above, around the default token.
template <disposition Place>
redirect_disposition_t<beck::deferred_t, Place> redirect_disposition(Place& place) {
  return {facade::disposition_adapter<Place>(place), beck::deferred};
}

BECK_ASIO_END
