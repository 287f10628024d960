// SPDX-License-Identifier: BSL-1.0
// Dispositions: an error_code or a std::exception_ptr that says how an operation ended, and a token
// that stores it.
#pragma once

#include <exception>
#include <type_traits>
#include <utility>

#include <beck/asio/config.hpp>
#include <beck/asio/error.hpp>
#include <beck/asio/token.hpp>

BECK_ASIO_BEGIN

/// Compares equal to a disposition that says success.
struct no_error_t {
  friend constexpr bool operator==(no_error_t, no_error_t) noexcept { return true; }
  friend bool operator==(const error_code& ec, no_error_t) noexcept { return !ec; }
  friend bool operator==(const std::exception_ptr& error, no_error_t) noexcept {
    return error == nullptr;
  }
};
/// The object.
inline constexpr no_error_t no_error{};

/// Returns an exception with the error; null if it says success.
inline std::exception_ptr to_exception_ptr(const error_code& ec) {
  return ec ? std::make_exception_ptr(system_error(ec)) : nullptr;
}
/// Returns the exception.
inline std::exception_ptr to_exception_ptr(std::exception_ptr error) noexcept { return error; }

/// Throws the error as a system_error.
[[noreturn]] inline void throw_exception(const error_code& ec) { throw system_error(ec); }
/// Throws the exception.
[[noreturn]] inline void throw_exception(std::exception_ptr error) {
  std::rethrow_exception(std::move(error));
}

namespace facade {

/// Where a disposition is stored.
template <class Place>
concept disposition_place =
    std::is_same_v<Place, error_code> || std::is_same_v<Place, std::exception_ptr>;

inline void store(error_code& place, const error_code& ec) { place = ec; }
inline void store(std::exception_ptr& place, const error_code& ec) {
  place = BECK_ASIO::to_exception_ptr(ec);
}
inline void store(std::exception_ptr& place, std::exception_ptr error) { place = std::move(error); }

/// The arguments behind the disposition.
template <class Signature>
struct behind_disposition;
template <class First, class... A>
struct behind_disposition<void(First, A...)> {
  using signature = void(A...);
};

/// Stores the disposition, then calls the handler with the other results.
template <class Handler, class Place>
class storing_handler {
 public:
  storing_handler(Handler&& handler, Place& place) : handler_(std::move(handler)), place_(&place) {}
  const Handler& wrapped_handler() const noexcept { return handler_; }
  template <class First, class... A>
  void operator()(First&& first, A&&... results) {
    facade::store(*place_, static_cast<First&&>(first));
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
  using signature = typename behind_disposition<Signature>::signature;
  template <class Signature>
  static constexpr bool maps_result = false;

  explicit disposition_adapter(Place& place) noexcept : place_(&place) {}
  template <class Signature, class H>
  auto adapt(H&& handler) const {
    return storing_handler<std::decay_t<H>, Place>(std::decay_t<H>(static_cast<H&&>(handler)),
                                                   *place_);
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
/// `place`, and passes the others to `token`. Requires that `place` lives until then.
template <class Token, facade::disposition_place Place>
redirect_disposition_t<std::decay_t<Token>, Place> redirect_disposition(Token&& token,
                                                                        Place& place) {
  return {facade::disposition_adapter<Place>(place), static_cast<Token&&>(token)};
}
/// As above, around the default token.
template <facade::disposition_place Place>
redirect_disposition_t<beck::deferred_t, Place> redirect_disposition(Place& place) {
  return {facade::disposition_adapter<Place>(place), beck::deferred};
}

BECK_ASIO_END
