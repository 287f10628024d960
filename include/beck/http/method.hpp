// SPDX-License-Identifier: BSL-1.0
//
// Request methods (RFC 9110, section 9; PATCH is RFC 5789).
#pragma once

#include <cstdint>
#include <string_view>

namespace beck::http {

/// A request method. A method without a value here is `other`; request_head::method_text() has its
/// name.
enum class method : std::uint8_t {
  other,
  get,
  head,
  post,
  put,
  delete_,
  connect,
  options,
  trace,
  patch,
};

namespace functions {

/// Returns the name, "GET" and so on; an empty text for method::other.
std::string_view name_of(method m) noexcept;

/// Returns the method with this name, which is case-sensitive; method::other if none has it.
method to_method(std::string_view name) noexcept;

/// Returns whether a request that was lost may be sent again, because sending it twice has the
/// effect of sending it once (RFC 9110, section 9.2.2). False for method::other.
constexpr bool is_idempotent(method m) noexcept {
  switch (m) {
    case method::get:
    case method::head:
    case method::put:
    case method::delete_:
    case method::options:
    case method::trace:
      return true;
    case method::other:
    case method::post:
    case method::connect:
    case method::patch:
      break;
  }
  return false;
}

}  // namespace functions
using namespace functions;

}  // namespace beck::http
