// SPDX-License-Identifier: BSL-1.0
// async_result as a trait that programs specialise in their namespace of Asio, for tokens of their
// own.
#pragma once

#include <utility>

#include <beck/asio/associated.hpp>
#include <beck/asio/boost_system.hpp>
#include <beck/asio/config.hpp>
#include <beck/asio/standard_names.hpp>
#include <beck/run/async_result.hpp>

BECK_ASIO_BEGIN

/// The result of an operation with a token. May be specialised: with a static initiate(), or in the
/// form of before Asio 1.14, with completion_handler_type, a constructor from such a handler, and
/// get().
template <class Token, class... Signatures>
class async_result {
 public:
  using primary = async_result;
  /// Calls `initiation(handler, args...)` with the handler of the token. Returns what the token
  /// makes of it.
  template <class Initiation, class Tok, class... Args>
  static decltype(auto) initiate(Initiation&& initiation, Tok&& token, Args&&... args) {
    return beck::async_result<Token, facade::beck_signature<Signatures>...>::initiate(
        static_cast<Initiation&&>(initiation), static_cast<Tok&&>(token),
        static_cast<Args&&>(args)...);
  }
};

#if defined(BECK_ASIO_BOOST_SYSTEM)
namespace facade {

/// Calls a handler of the program with Boost's code.
template <class Handler>
class handler_of_program {
 public:
  template <class H>
  explicit handler_of_program(H&& handler) : handler_(static_cast<H&&>(handler)) {}
  const Handler& wrapped_handler() const noexcept { return handler_; }
  template <class... A>
  void operator()(A&&... results) {
    static_cast<Handler&&>(handler_)(given(static_cast<A&&>(results))...);
  }

 private:
  template <class T>
  static decltype(auto) given(T&& result) {
    if constexpr (std::is_base_of_v<beck::error_code, std::remove_cvref_t<T>>) {
      return facade::to_program(result);
    } else if constexpr (std::is_same_v<std::vector<beck::error_code>, std::remove_cvref_t<T>>) {
      std::vector<program_code> codes;
      codes.reserve(result.size());
      for (const beck::error_code& ec : result) codes.push_back(facade::to_program(ec));
      return codes;
    } else {
      return static_cast<T&&>(result);
    }
  }
  Handler handler_;
};

/// A handler for an operation of beck that has a code.
template <class Token, class Signature>
concept takes_program_code =
    !std::is_same_v<Signature, program_signature<Signature>> &&
    !specialised<BECK_ASIO::async_result<Token, program_signature<Signature>>> &&
    beck::detail::accepts_signature<Token, program_signature<Signature>>;

}  // namespace facade
#endif

BECK_ASIO_END

namespace beck {

#if defined(BECK_ASIO_BOOST_SYSTEM)
template <class Token, class Signature>
  requires BECK_ASIO::facade::takes_program_code<Token, Signature>
class async_result<Token, Signature> {
 public:
  template <class Initiation, class Tok, class... Args>
  static decltype(auto) initiate(Initiation&& initiation, Tok&& token, Args&&... args) {
    return static_cast<Initiation&&>(initiation)(
        BECK_ASIO::facade::handler_of_program<Token>(static_cast<Tok&&>(token)),
        static_cast<Args&&>(args)...);
  }
};
#endif

template <class Token, class Signature>
  requires BECK_ASIO::facade::specialised<
      BECK_ASIO::async_result<Token, BECK_ASIO::facade::program_signature<Signature>>>
class async_result<Token, Signature> {
  using given = BECK_ASIO::async_result<Token, BECK_ASIO::facade::program_signature<Signature>>;

 public:
  template <class Initiation, class Tok, class... Args>
  static decltype(auto) initiate(Initiation&& initiation, Tok&& token, Args&&... args) {
    if constexpr (requires { typename given::completion_handler_type; }) {
      typename given::completion_handler_type handler(static_cast<Tok&&>(token));
      given result(handler);
      static_cast<Initiation&&>(initiation)(std::move(handler), static_cast<Args&&>(args)...);
      return result.get();
    } else {
      return given::initiate(static_cast<Initiation&&>(initiation), static_cast<Tok&&>(token),
                             static_cast<Args&&>(args)...);
    }
  }
};

}  // namespace beck
