// SPDX-License-Identifier: BSL-1.0
//
// Middlewares for router::use(): pages of other origins (cors, same_origin), limits (rate_limit,
// at_most), and fields of all responses (add_fields). request_id.hpp has another one. They are
// copied into the router; a copy shares nothing but what it says. Thread: any.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/coro/task.hpp>
#include <beck/http/middleware.hpp>
#include <cstddef>
#include <initializer_list>
#include <string>  // lint: allow heavy-header, error.hpp has it already
#include <string_view>

namespace beck::http {

/// The rules of cors. Without origins no page of another origin gets a response.
class cors_options {
 public:
  /// Lets pages of an origin read responses: "https://app.example", in lower case, with its port
  /// unless that is the scheme's own. May be called several times. Throws std::invalid_argument for
  /// another text, such as a URL with a path.
  cors_options& origin(std::string_view one);
  /// Lets pages of all origins read responses; not with credentials().
  cors_options& any_origin() noexcept;
  /// Lets these pages send cookies and passwords of their user.
  cors_options& credentials() noexcept;
  /// Sets the methods that they may use besides GET, HEAD and POST: "PUT, DELETE". Throws
  /// std::invalid_argument unless it is a list of tokens.
  cors_options& methods(std::string_view list);
  /// Sets the fields of requests that they may set besides the simple ones: "Content-Type,
  /// Authorization". Throws as above.
  cors_options& fields(std::string_view list);
  /// Sets the fields of responses that their scripts may read besides the simple ones. Throws as
  /// above.
  cors_options& exposes(std::string_view list);
  /// Sets how long a browser remembers these rules. Default: 5 s, that of browsers.
  cors_options& max_age(duration after) noexcept;

 private:
  friend class cors;

  std::string origins_;  // each with a line end
  std::string methods_, fields_, exposes_;
  duration max_age_{0};
  bool any_ = false, credentials_ = false;
};

/// Lets scripts of pages of other origins use the site, as the options say (Fetch Standard, "CORS
/// protocol"). Questions of browsers (OPTIONS with Access-Control-Request-Method) are answered with
/// 204 and never reach the handlers; a page that is not allowed gets the response without the
/// fields, so its browser keeps it from the page. Does not keep requests out: see same_origin.
class cors {
 public:
  /// Takes the rules. Throws std::invalid_argument for any_origin() with credentials().
  explicit cors(cors_options rules);
  pending operator()(request& q, response& r, next rest) const;

 private:
  bool allows(std::string_view origin) const noexcept;
  void allow(request& q, response& r) const;

  cors_options rules_;
};

/// Refuses requests with other methods than GET, HEAD and OPTIONS that pages of other origins
/// cause, with the cookies of their user but without their will (cross-site request forgery): with
/// 403. Goes by Sec-Fetch-Site, which every browser sends since 2023, else by Origin; clients that
/// are no browsers send neither, and pass. GET must not change anything.
/// Source: Fetch Metadata Request Headers (W3C); the same rules as in Go's CrossOriginProtection.
class same_origin {
 public:
  same_origin() = default;
  /// Lets pages of `origin`, such as "https://app.example", pass too. Throws as
  /// cors_options::origin().
  same_origin& trust(std::string_view origin);
  pending operator()(request& q, response& r, next rest) const;

 private:
  std::string trusted_;  // origins, each with a line end
};

/// Sets fields of all responses, also of error pages, unless the handler has set them:
///   site.use(http::add_fields({{"X-Frame-Options", "DENY"}, {"Referrer-Policy", "same-origin"}}));
class add_fields {
 public:
  /// A name and a value.
  struct field {
    std::string_view name, value;
  };
  /// Copies the fields. Throws as response::set().
  add_fields(std::initializer_list<field> all);
  pending operator()(request& q, response& r, next rest) const;

 private:
  std::string texts_;  // name, line end, value, line end, name, ...
};

/// Answers with 503 and Retry-After while `count` requests are inside, from their heads on to the
/// ends of their handlers: at once, for a queue would only make all of them late. Copies share the
/// count, which is that of all contexts. Costs a coroutine for each request.
class at_most {
 public:
  /// Throws std::invalid_argument for 0; std::bad_alloc.
  explicit at_most(std::size_t count);
  at_most(const at_most& other) noexcept;
  at_most& operator=(const at_most& other) noexcept;
  ~at_most();
  task<> operator()(request& q, response& r, next rest) const;

 private:
  struct state;
  state* state_;
};

/// Answers with 429 and Retry-After if a client sends more requests than `per_second` in the mean,
/// or more than `burst` at once. A client is request::client_address(), the first 64 bits of it for
/// IPv6; all peers of a UNIX socket are one. Copies share one table of 65,536 clients for all
/// contexts; in a full part of it a new client takes the place of the one that has waited the
/// longest.
class rate_limit {
 public:
  /// Throws std::invalid_argument unless 0 < per_second <= 1e9, and burst >= 1; std::bad_alloc.
  rate_limit(double per_second, unsigned burst);
  rate_limit(const rate_limit& other) noexcept;
  rate_limit& operator=(const rate_limit& other) noexcept;
  ~rate_limit();
  pending operator()(request& q, response& r, next rest) const;

 private:
  struct table;
  table* table_;
};

}  // namespace beck::http
