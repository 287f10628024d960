// SPDX-License-Identifier: BSL-1.0
//
// Names of header fields. Names that servers and clients use themselves have a number, so that a
// head finds them without comparing texts; all others are found by their name.
#pragma once

#include <cstdint>
#include <string_view>

namespace beck::http {

/// A known field name (RFC 9110, RFC 9112, RFC 6455, RFC 7239 and others). `other` stands for all
/// remaining names. At most 64 values: a head keeps a bit for each.
enum class field : std::uint8_t {
  other,
  accept,
  accept_encoding,
  accept_language,
  accept_ranges,
  access_control_allow_origin,
  access_control_request_method,
  age,
  allow,
  authorization,
  cache_control,
  connection,
  content_disposition,
  content_encoding,
  content_language,
  content_length,
  content_location,
  content_range,
  content_security_policy,
  content_type,
  cookie,
  date,
  etag,
  expect,
  expires,
  forwarded,
  host,
  if_match,
  if_modified_since,
  if_none_match,
  if_range,
  if_unmodified_since,
  keep_alive,
  last_modified,
  link,
  location,
  max_forwards,
  origin,
  pragma,
  proxy_authenticate,
  proxy_authorization,
  proxy_connection,
  range,
  referer,
  retry_after,
  sec_websocket_accept,
  sec_websocket_extensions,
  sec_websocket_key,
  sec_websocket_protocol,
  sec_websocket_version,
  server,
  set_cookie,
  strict_transport_security,
  te,
  trailer,
  transfer_encoding,
  upgrade,
  user_agent,
  vary,
  via,
  www_authenticate,
  x_forwarded_for,
  x_forwarded_host,
  x_forwarded_proto,
};

namespace functions {

/// Returns the name as it is written in a head, "Content-Length" and so on; an empty text for
/// field::other.
std::string_view name_of(field f) noexcept;

/// Returns the field with this name in any case; field::other if it is none of the known ones.
field to_field(std::string_view name) noexcept;

}  // namespace functions
using namespace functions;

}  // namespace beck::http
