// SPDX-License-Identifier: BSL-1.0
//
// The bodies of responses that say that something is wrong: those of the library itself, and those
// that handlers ask for with response::fail() or a failure. One function of the program makes them.
#pragma once

#include <beck/http/failure.hpp>
#include <beck/http/field.hpp>
#include <beck/http/refusal.hpp>
#include <beck/http/request.hpp>
#include <beck/http/status.hpp>
#include <exception>
#include <string_view>

namespace beck::http {

namespace detail {

struct page_draft;

}  // namespace detail

/// A response with a status of 400 or more, before it is sent; see server::on_error_page(). It has
/// the library's text as its body until body() replaces that.
/// Thread: that of the connection. Lifetime: the call of the function.
class error_page {
 public:
  explicit error_page(detail::page_draft& of) noexcept : draft_(of) {}
  error_page(const error_page&) = delete;
  error_page& operator=(const error_page&) = delete;

  /// Returns the status.
  http::status status() const noexcept;
  /// Sets the status, for example for the program's exceptions. Throws std::invalid_argument unless
  /// 400 <= status <= 599.
  error_page& status(unsigned number);
  /// As above, with the name of the status.
  error_page& status(http::status s) { return status(number_of(s)); }
  /// Returns why the request was refused; refusal::none if a handler or a router responds so.
  refusal why() const noexcept;
  /// Returns the exception of the handler, which may be a failure, or a std::logic_error of a
  /// handler that has ended without a response; else nullptr.
  const std::exception_ptr& thrown() const noexcept;
  /// Returns the library's text, a sentence for the client without a line end: the reason, with the
  /// limit if one was exceeded; what() of a failure; the text of response::fail(). Never what() of
  /// another exception, which is not for clients.
  std::string_view text() const noexcept;
  /// Returns the request, with its route and the values of its slots; nullptr if its head was
  /// refused or too slow.
  const http::request* request() const noexcept;
  /// Returns request::id(); an empty text if there is no request.
  std::string_view request_id() const noexcept;
  /// Returns whether it is too late for a response: the head was sent, or the connection is lost.
  /// The function is then called for thrown() only, and the rest has no effect.
  bool has_begun() const noexcept;

  /// Sets a field of the response. Throws as response::set().
  error_page& set(field f, std::string_view value);
  /// As above, for a field with any name.
  error_page& set(std::string_view name, std::string_view value);
  /// Sets the body and its media type, such as "text/html; charset=utf-8". Both are copied. Throws
  /// as response::set(); std::bad_alloc.
  void body(std::string_view media_type, std::string_view text);

 private:
  detail::page_draft& draft_;
};

namespace functions {

/// Makes the body a problem document (RFC 9457), application/problem+json, with the members
/// "title", "status", "detail" and, if the request has an id, "request_id":
///   server.on_error_page(&http::problem_page);
/// Bytes of texts that are not UTF-8 become U+FFFD. Throws std::bad_alloc.
void problem_page(error_page& page);

}  // namespace functions
using namespace functions;

}  // namespace beck::http
