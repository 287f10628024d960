// SPDX-License-Identifier: BSL-1.0
// The names of methods, statuses and fields. Looks up field names that do not come from a head; the
// parser of heads has its own lookup.
#include <cstring>
#include <iterator>

#include <beck/http/field.hpp>
#include <beck/http/method.hpp>
#include <beck/http/status.hpp>

#include "http/message/field_table.hpp"

namespace beck::http {
namespace {

constexpr std::string_view method_names[] = {
    "", "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
};

struct status_row {
  status code;
  std::string_view reason;
};

constexpr status_row statuses[] = {
    {status::continue_, "Continue"},
    {status::switching_protocols, "Switching Protocols"},
    {status::early_hints, "Early Hints"},
    {status::ok, "OK"},
    {status::created, "Created"},
    {status::accepted, "Accepted"},
    {status::non_authoritative_information, "Non-Authoritative Information"},
    {status::no_content, "No Content"},
    {status::reset_content, "Reset Content"},
    {status::partial_content, "Partial Content"},
    {status::multiple_choices, "Multiple Choices"},
    {status::moved_permanently, "Moved Permanently"},
    {status::found, "Found"},
    {status::see_other, "See Other"},
    {status::not_modified, "Not Modified"},
    {status::temporary_redirect, "Temporary Redirect"},
    {status::permanent_redirect, "Permanent Redirect"},
    {status::bad_request, "Bad Request"},
    {status::unauthorized, "Unauthorized"},
    {status::payment_required, "Payment Required"},
    {status::forbidden, "Forbidden"},
    {status::not_found, "Not Found"},
    {status::method_not_allowed, "Method Not Allowed"},
    {status::not_acceptable, "Not Acceptable"},
    {status::proxy_authentication_required, "Proxy Authentication Required"},
    {status::request_timeout, "Request Timeout"},
    {status::conflict, "Conflict"},
    {status::gone, "Gone"},
    {status::length_required, "Length Required"},
    {status::precondition_failed, "Precondition Failed"},
    {status::content_too_large, "Content Too Large"},
    {status::uri_too_long, "URI Too Long"},
    {status::unsupported_media_type, "Unsupported Media Type"},
    {status::range_not_satisfiable, "Range Not Satisfiable"},
    {status::expectation_failed, "Expectation Failed"},
    {status::misdirected_request, "Misdirected Request"},
    {status::unprocessable_content, "Unprocessable Content"},
    {status::locked, "Locked"},
    {status::too_early, "Too Early"},
    {status::upgrade_required, "Upgrade Required"},
    {status::precondition_required, "Precondition Required"},
    {status::too_many_requests, "Too Many Requests"},
    {status::request_header_fields_too_large, "Request Header Fields Too Large"},
    {status::unavailable_for_legal_reasons, "Unavailable For Legal Reasons"},
    {status::internal_server_error, "Internal Server Error"},
    {status::not_implemented, "Not Implemented"},
    {status::bad_gateway, "Bad Gateway"},
    {status::service_unavailable, "Service Unavailable"},
    {status::gateway_timeout, "Gateway Timeout"},
    {status::http_version_not_supported, "HTTP Version Not Supported"},
    {status::insufficient_storage, "Insufficient Storage"},
    {status::network_authentication_required, "Network Authentication Required"},
};

}  // namespace

std::string_view functions::name_of(method m) noexcept {
  return method_names[static_cast<unsigned>(m)];
}

method functions::to_method(std::string_view name) noexcept {
  for (unsigned i = 1; i < std::size(method_names); ++i)
    if (method_names[i] == name) return static_cast<method>(i);
  return method::other;
}

std::string_view functions::reason_of(status s) noexcept {
  for (const status_row& each : statuses)
    if (each.code == s) return each.reason;
  return {};
}

std::string_view functions::name_of(field f) noexcept {
  return detail::field_names[static_cast<std::size_t>(f)];
}

field functions::to_field(std::string_view name) noexcept {
  if (name.size() < 2 || name.size() >= detail::byte_block::bytes) return field::other;
  for (const char c : name)
    if (static_cast<unsigned char>(c) < 0x20) return field::other;
  char padded[detail::byte_block::bytes] = {};
  std::memcpy(padded, name.data(), name.size());
  padded[name.size()] = ':';
  return detail::find_field(detail::byte_block(padded), name.data(), name.size());
}

}  // namespace beck::http
