// SPDX-License-Identifier: BSL-1.0
// Requests that pages of other origins cause: which of them may read responses, and which may
// change anything.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include <beck/http/middlewares.hpp>
#include <beck/http/request.hpp>
#include <beck/http/response.hpp>
#include <beck/http/url.hpp>

#include "http/message/characters.hpp"

namespace beck::http {
namespace {

constexpr std::int64_t ns_of_a_second = 1'000'000'000;

/// Returns an origin as browsers write it. Throws std::invalid_argument.
std::string checked_origin(std::string_view text) {
  url parts;
  const bool is_url = parse_url(text, parts) == url_error::none;
  const bool is_lower =
      std::none_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  const std::string plain =
      (parts.is_https ? "https://" : "http://") + std::string(parts.host_field);
  if (!is_url || !is_lower || text != plain)
    throw std::invalid_argument("http: not an origin: \"" + std::string(text.substr(0, 80)) +
                                "\", such as https://app.example or http://localhost:8080");
  return std::string(text);
}

/// Returns a list of tokens. Throws std::invalid_argument.
std::string checked_list(std::string_view list) {
  std::string_view left = list;
  while (!left.empty()) {
    const std::string_view one = detail::take_element(left);
    if (!detail::is_token(one))
      throw std::invalid_argument("http: not a list of tokens: \"" + std::string(list) + '"');
  }
  return std::string(list);
}

/// Returns whether `one` is a line of `all`.
bool lists(std::string_view all, std::string_view one) noexcept {
  while (!all.empty()) {
    const std::size_t end = all.find('\n');
    if (all.substr(0, end) == one) return true;
    all.remove_prefix(end + 1);
  }
  return false;
}

/// Returns the host and the port of an origin: what the field Host of its own requests has.
std::string_view host_of(std::string_view origin) noexcept {
  const std::size_t end = origin.find("://");
  return end == std::string_view::npos ? std::string_view() : origin.substr(end + 3);
}

}  // namespace

cors_options& cors_options::origin(std::string_view one) {
  origins_ += checked_origin(one) + '\n';
  return *this;
}
cors_options& cors_options::any_origin() noexcept {
  any_ = true;
  return *this;
}
cors_options& cors_options::credentials() noexcept {
  credentials_ = true;
  return *this;
}
cors_options& cors_options::methods(std::string_view list) {
  methods_ = checked_list(list);
  return *this;
}
cors_options& cors_options::fields(std::string_view list) {
  fields_ = checked_list(list);
  return *this;
}
cors_options& cors_options::exposes(std::string_view list) {
  exposes_ = checked_list(list);
  return *this;
}
cors_options& cors_options::max_age(duration after) noexcept {
  max_age_ = after;
  return *this;
}

cors::cors(cors_options rules) : rules_(std::move(rules)) {
  if (rules_.any_ && rules_.credentials_)
    throw std::invalid_argument(
        "http::cors: any_origin() with credentials() would let every page act for the user");
}

bool cors::allows(std::string_view origin) const noexcept {
  return rules_.any_ || lists(rules_.origins_, origin);
}

/// Sets the fields of a response to a page that is allowed. Keeps caches from giving the response
/// to another origin.
void cors::allow(request& q, response& r) const {
  const std::string_view origin = q.get(field::origin);
  if (!rules_.any_) r.add("Vary", "Origin");
  if (origin.empty() || !allows(origin)) return;
  r.set(field::access_control_allow_origin, rules_.any_ ? "*" : origin);
  if (rules_.credentials_) r.set("Access-Control-Allow-Credentials", "true");
}

pending cors::operator()(request& q, response& r, next rest) const {
  const bool is_question = q.method() == method::options && !q.get(field::origin).empty() &&
                           !q.get(field::access_control_request_method).empty();
  if (!is_question) {
    r.before_head([self = this](request& asked, response& head) {
      self->allow(asked, head);
      if (!self->rules_.exposes_.empty())
        head.set("Access-Control-Expose-Headers", self->rules_.exposes_);
    });
    return rest(q, r);
  }
  allow(q, r);
  if (allows(q.get(field::origin))) {
    if (!rules_.methods_.empty()) r.set("Access-Control-Allow-Methods", rules_.methods_);
    if (!rules_.fields_.empty()) r.set("Access-Control-Allow-Headers", rules_.fields_);
    const std::int64_t seconds = rules_.max_age_.nanoseconds() / ns_of_a_second;
    if (seconds > 0) r.set("Access-Control-Max-Age", std::to_string(seconds));
  }
  r.status(status::no_content).send();
  return {};
}

same_origin& same_origin::trust(std::string_view origin) {
  trusted_ += checked_origin(origin) + '\n';
  return *this;
}

pending same_origin::operator()(request& q, response& r, next rest) const {
  const method asked = q.method();
  if (asked == method::get || asked == method::head || asked == method::options) return rest(q, r);
  const std::string_view site = q.get("Sec-Fetch-Site");
  const std::string_view origin = q.get(field::origin);
  const bool is_own = !site.empty() ? site == "same-origin" || site == "none"
                                    : origin.empty() || detail::equal_in_any_case(
                                                            host_of(origin), q.get(field::host));
  if (is_own || lists(trusted_, origin)) return rest(q, r);
  r.fail(status::forbidden, "a page of another origin has sent this request");
  return {};
}

}  // namespace beck::http
