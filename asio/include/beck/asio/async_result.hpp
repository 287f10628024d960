// SPDX-License-Identifier: BSL-1.0
// async_result as a trait that programs specialise in their namespace of Asio, for tokens of their
// own.
#pragma once

#include <utility>

#include <beck/asio/associated.hpp>
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
    return beck::async_result<Token, Signatures...>::initiate(static_cast<Initiation&&>(initiation),
                                                              static_cast<Tok&&>(token),
                                                              static_cast<Args&&>(args)...);
  }
};

BECK_ASIO_END

namespace beck {

template <class Token, class Signature>
  requires BECK_ASIO::facade::specialised<BECK_ASIO::async_result<Token, Signature>>
class async_result<Token, Signature> {
  using given = BECK_ASIO::async_result<Token, Signature>;

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
