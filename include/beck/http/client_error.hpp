// SPDX-License-Identifier: BSL-1.0
//
// The errors of an HTTP client, besides those of the system and of name lookups: limits that were
// exceeded, and faults of servers. docs/http-client.md has a table of them.
#pragma once

#include <beck/base/error.hpp>
#include <beck/http/refusal.hpp>
#include <type_traits>

namespace beck::http {

/// The reason why a call has failed.
enum class client_error : int {
  bad_url = 1,       ///< parse_url() refuses the URL; client_response::error_text() has the reason
  no_tls,            ///< https, and the connector has no TLS
  too_many_waiting,  ///< client_options::waiting calls already wait for a connection
  connect_late,      ///< no connection within client_options::connect_timeout
  send_late,         ///< the server took no byte for client_options::send_timeout
  head_late,         ///< no head of a response within client_options::head_timeout
  body_late,         ///< the body was slower than client_options::body_rate, body_timeout
  no_response,       ///< the connection ended before the first byte of a response
  cut_short,         ///< the connection ended inside the response
  too_many_interim,  ///< more 1xx responses than client_options::interim_bytes
  too_many_redirects,  ///< more than client_options::redirects
  unexpected_upgrade,  ///< 101, and the call did not ask for it
  wrong_length,        ///< the body was shorter than call::content_length()
  connector_failed,    ///< the connector threw an exception that is no system_error
  call_late,           ///< the call took longer than call::time()
  proxy_refused,       ///< a proxy refused; client_response::error_text() has its status
  before_call_failed,  ///< client::before_call() threw an exception that is no system_error
};

/// Returns the category of client_error. The late ones compare equal to errc::timed_out;
/// no_response and cut_short to errc::connection_reset. Any thread; valid until the process ends.
const std::error_category& client_category() noexcept;
/// Returns the category of codes made from a refusal: body_too_long compares equal to
/// errc::message_size, the others to errc::bad_message. As client_category().
const std::error_category& refusal_category() noexcept;

/// Returns the error_code of `e`.
inline error_code make_error_code(client_error e) noexcept {
  return {static_cast<int>(e), client_category()};
}
/// Returns the error_code of a response that is refused for `why`.
inline error_code make_error_code(refusal why) noexcept {
  return {static_cast<int>(why), refusal_category()};
}

}  // namespace beck::http

/// Makes the enumerators convert to error_code.
template <>
struct std::is_error_code_enum<beck::http::client_error> : std::true_type {};
/// Makes the enumerators convert to error_code.
template <>
struct std::is_error_code_enum<beck::http::refusal> : std::true_type {};
