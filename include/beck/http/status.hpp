// SPDX-License-Identifier: BSL-1.0
//
// Status codes (RFC 9110, section 15, and the registry of IANA).
#pragma once

#include <cstdint>
#include <string_view>

namespace beck::http {

/// A status code. Every number from 100 to 599 is a valid value, with a name here or not. A
/// response may have a number up to 999; those above 599 mean the same as 500 (RFC 9110, section
/// 15).
enum class status : std::uint16_t {
  continue_ = 100,
  switching_protocols = 101,
  early_hints = 103,
  ok = 200,
  created = 201,
  accepted = 202,
  non_authoritative_information = 203,
  no_content = 204,
  reset_content = 205,
  partial_content = 206,
  multiple_choices = 300,
  moved_permanently = 301,
  found = 302,
  see_other = 303,
  not_modified = 304,
  temporary_redirect = 307,
  permanent_redirect = 308,
  bad_request = 400,
  unauthorized = 401,
  payment_required = 402,
  forbidden = 403,
  not_found = 404,
  method_not_allowed = 405,
  not_acceptable = 406,
  proxy_authentication_required = 407,
  request_timeout = 408,
  conflict = 409,
  gone = 410,
  length_required = 411,
  precondition_failed = 412,
  content_too_large = 413,
  uri_too_long = 414,
  unsupported_media_type = 415,
  range_not_satisfiable = 416,
  expectation_failed = 417,
  misdirected_request = 421,
  unprocessable_content = 422,
  locked = 423,
  too_early = 425,
  upgrade_required = 426,
  precondition_required = 428,
  too_many_requests = 429,
  request_header_fields_too_large = 431,
  unavailable_for_legal_reasons = 451,
  internal_server_error = 500,
  not_implemented = 501,
  bad_gateway = 502,
  service_unavailable = 503,
  gateway_timeout = 504,
  http_version_not_supported = 505,
  insufficient_storage = 507,
  network_authentication_required = 511,
};

namespace functions {

/// Returns the number.
constexpr unsigned number_of(status s) noexcept { return static_cast<unsigned>(s); }

/// Returns the registered phrase, "Not Found" and so on; an empty text for a code without a name
/// above.
std::string_view reason_of(status s) noexcept;

/// Returns whether a response with this status never has a body, with any fields: 1xx, 204 and
/// 304 (RFC 9112, section 6.3).
constexpr bool is_bodiless(status s) noexcept {
  return number_of(s) < 200 || s == status::no_content || s == status::not_modified;
}

}  // namespace functions
using namespace functions;

}  // namespace beck::http
