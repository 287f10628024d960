// SPDX-License-Identifier: BSL-1.0
// Redirects keep the method and the body where their status says so, and secrets at their origin.
#include "http/client/client_request.hpp"

#include <cstring>
#include <initializer_list>

#include <beck/base/assert.hpp>
#include <beck/http/client_error.hpp>
#include <beck/http/parser.hpp>

#include "http/message/characters.hpp"
#include "http/message/location.hpp"

namespace beck::http::detail {
namespace {

bool is_redirect(http::status s) noexcept {
  return s == status::moved_permanently || s == status::found || s == status::see_other ||
         s == status::temporary_redirect || s == status::permanent_redirect;
}

}  // namespace

void block_text::assign(std::string_view text) {
  auto* const made =
      static_cast<char*>(beck::detail::allocate_block(text.size() + request_parser::padding));
  if (!text.empty()) std::memcpy(made, text.data(), text.size());
  clear();
  data_ = made;
  bytes_ = text.size();
}

origin_key::origin_key(const url& of) noexcept {
  const auto put = [this](std::string_view text) {
    BECK_ASSERT(text.size() <= bytes_max - bytes_, "the name of an origin needs more room");
    for (const char c : text) room_[bytes_++] = lower(c);
  };
  put(of.is_https ? "https://" : "http://");
  if (of.kind == host_kind::ipv6) put("[");
  put(of.host);
  put(of.kind == host_kind::ipv6 ? "]:" : ":");
  put(std::to_string(of.port));
}

client_request::client_request(std::string_view text) {
  set_url(text.substr(0, url::bytes_max + 1));
}

void client_request::set_url(std::string_view text) {
  url_text.assign(text);
  refused = parse_url(url_text.view(), to);
}

void client_request::set_method(http::method m, std::string_view name) noexcept {
  BECK_ASSERT(name.size() <= sizeof method_text, "a method of more than 24 bytes");
  method = m;
  method_bytes = static_cast<std::uint8_t>(name.copy(method_text, sizeof method_text));
}

void client_request::set_target(std::string_view text) {
  const bool fits = text.size() <= url::bytes_max;
  if (fits && is_target(text, method == method::options)) {
    target = text;
  } else if (refused == url_error::none) {
    refused = fits ? url_error::bad_character : url_error::too_long;
  }
}

error_code client_request::check() const noexcept {
  return refused == url_error::none ? error_code() : make_error_code(client_error::bad_url);
}

/// Resolves a Location against what was asked for. Returns whether it is a URL.
bool client_request::resolve(std::string_view location, std::string& next) const {
  const std::string reference = encode_location(location);
  if (target.empty() || target == "*")
    return resolve_reference(to, reference, next) == url_error::none;
  std::string asked(to.is_https ? "https://" : "http://");
  asked.append(to.host_field).append(encode_location(target));
  url base;
  return parse_url(asked, base) == url_error::none &&
         resolve_reference(base, reference, next) == url_error::none;
}

bool client_request::follow(const response_head& from, unsigned redirects_max, error_code& ec) {
  const http::status s = from.status();
  if (redirects_max == 0 || !is_redirect(s)) return false;
  if (!upgrade.empty()) return false;  // its protocol is for this server
  const bool to_get =
      (s == status::see_other && method != method::head) ||
      ((s == status::moved_permanently || s == status::found) && method == method::post);
  if (!to_get && is_stream()) return false;
  std::string text;
  url next;
  if (from.repeats(field::location) || !from.has(field::location) ||
      !resolve(from.get(field::location), text) || parse_url(text, next) != url_error::none) {
    return false;
  }
  if (to.is_https && !next.is_https) return false;
  if (redirects == redirects_max) {
    ec = client_error::too_many_redirects;
    return false;
  }
  BECK_ASSERT(redirects < redirects_max, "more redirects were followed than are allowed");
  ++redirects;
  if (!is_same_origin(to, next)) {
    for (const field secret :
         {field::authorization, field::cookie, field::proxy_authorization, field::host}) {
      fields.remove(name_of(secret));
    }
  }
  if (to_get) {
    set_method(method::get, name_of(method::get));
    kind = request_body_kind::none;
    expects_continue = false;
    for (const field about_body : {field::content_type, field::content_encoding,
                                   field::content_language, field::content_location}) {
      fields.remove(name_of(about_body));
    }
  }
  target.clear();
  set_url(text);
  return true;
}

std::string client_request::error_text(const error_code& failed, std::string_view more) const {
  std::string text(method_name());
  text.append(" ");
  if (refused != url_error::none) {
    text.append(url_text.view().substr(0, 200)).append(": ").append(failed.message());
    return text.append(": ").append(text_of(refused));
  }
  text.append(origin_key(to).view()).append(": ").append(failed.message());
  if (!more.empty()) text.append(": ").append(more);
  return text;
}

}  // namespace beck::http::detail
