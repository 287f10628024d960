// SPDX-License-Identifier: BSL-1.0
// Fields of the handshake are checked as strictly as the head was parsed: a field that may occur
// only once must not be repeated, and names of protocols are case-sensitive.
#include "websocket/handshake.hpp"

#include "http/message/characters.hpp"

namespace beck::websocket::detail {
namespace {

using http::field;
using http::detail::equal_in_any_case;
using http::detail::take_element;

/// Returns whether a comma-separated list contains `wanted`, in the same case.
bool lists(std::string_view list, std::string_view wanted) noexcept {
  while (!list.empty())
    if (take_element(list) == wanted) return true;
  return false;
}

/// Returns whether the fields `f` of a head, together, list `wanted`, in the same case.
bool offers(const http::head& head, field f, std::string_view wanted) noexcept {
  for (const http::field_view each : head)
    if (each.id == f && lists(each.value, wanted)) return true;
  return false;
}

/// Returns the first of `ours` that the client offers; an empty text if it offers none of them.
std::string_view choose_protocol(const http::request_head& head, std::string_view ours) noexcept {
  while (!ours.empty()) {
    const std::string_view each = take_element(ours);
    if (!each.empty() && offers(head, field::sec_websocket_protocol, each)) return each;
  }
  return {};
}

/// Removes the port from an authority. Returns it, or the default port of the scheme.
std::string_view take_port(std::string_view& authority, bool is_https) noexcept {
  const std::size_t colon = authority.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos;
  const std::string_view port = has_port ? authority.substr(colon + 1) : std::string_view();
  if (has_port) authority = authority.substr(0, colon);
  return !port.empty() ? port : is_https ? "443" : "80";
}

/// Returns whether `origin` is the server's own: it has the host and port of the request, where a
/// missing port is the default of the origin's scheme. Over TLS the scheme must be https. A plain
/// connection allows both schemes: it may come from a proxy that ends TLS.
bool is_own_origin(std::string_view origin, std::string_view host, bool is_secure) noexcept {
  const std::size_t end = origin.find("://");
  if (end == std::string_view::npos) return false;  // such as "null"
  const std::string_view scheme = origin.substr(0, end);
  const bool is_https = equal_in_any_case(scheme, "https");
  if (!is_https && (is_secure || !equal_in_any_case(scheme, "http"))) return false;
  std::string_view page = origin.substr(end + 3);
  return take_port(page, is_https) == take_port(host, is_https) && equal_in_any_case(page, host);
}

/// Returns whether the page that the request comes from may connect with its scripts.
bool is_origin_allowed(const http::request_head& head, std::string_view allowed,
                       bool is_secure) noexcept {
  if (!head.has(field::origin)) return true;  // not a browser
  if (head.repeats(field::origin)) return false;
  const std::string_view origin = head.get(field::origin);
  while (!allowed.empty()) {
    const std::string_view each = take_element(allowed);
    if (each == "*" || equal_in_any_case(each, origin)) return true;
  }
  return is_own_origin(origin, head.get(field::host), is_secure);
}

}  // namespace

upgrade_check check_request(const http::request_head& head, const accept_options& how,
                            bool is_secure) noexcept {
  using http::status;
  if (head.method() != http::method::get)
    return {status::method_not_allowed, stream_error::no_upgrade};
  const bool has_body = head.framing() == http::body_framing::chunked || head.content_length() != 0;
  if (head.minor_version() == 0 || has_body) return {status::bad_request, stream_error::no_upgrade};
  if (!head.lists(field::upgrade, "websocket") || !head.lists(field::connection, "upgrade"))
    return {status::upgrade_required, stream_error::no_upgrade};
  if (head.get(field::sec_websocket_version) != "13" || head.repeats(field::sec_websocket_version))
    return {status::upgrade_required, stream_error::bad_version};
  const std::string_view key = head.get(field::sec_websocket_key);
  if (!is_key(key) || head.repeats(field::sec_websocket_key))
    return {status::bad_request, stream_error::bad_key};
  if (!is_origin_allowed(head, how.origins, is_secure))
    return {status::forbidden, stream_error::bad_origin};
  return {key, choose_protocol(head, how.protocols)};
}

bool check_response(const http::response_head& head, std::string_view key, std::string_view offered,
                    std::string_view& protocol) {
  if (head.minor_version() == 0) return false;
  if (!equal_in_any_case(head.get(field::upgrade), "websocket") || head.repeats(field::upgrade) ||
      !head.lists(field::connection, "upgrade"))
    return false;
  if (head.get(field::sec_websocket_accept) != accept_value(key) ||
      head.repeats(field::sec_websocket_accept))
    return false;
  if (head.has(field::sec_websocket_extensions)) return false;  // none was offered
  protocol = {};
  if (!head.has(field::sec_websocket_protocol)) return true;
  if (head.repeats(field::sec_websocket_protocol)) return false;
  while (!offered.empty()) {
    const std::string_view each = take_element(offered);
    if (each == head.get(field::sec_websocket_protocol)) protocol = each;
  }
  return !protocol.empty();
}

std::string http_url(std::string_view url) {
  const std::size_t scheme = url.find(':');
  if (scheme == std::string_view::npos) return {};
  std::string text;
  if (equal_in_any_case(url.substr(0, scheme), "ws")) {
    text = "http";
  } else if (equal_in_any_case(url.substr(0, scheme), "wss")) {
    text = "https";
  } else {
    return {};
  }
  return text.append(url.substr(scheme));
}

}  // namespace beck::websocket::detail
