// SPDX-License-Identifier: BSL-1.0
//
// An exception that is a response: a status, and a sentence for the client.
#pragma once

#include <beck/base/error.hpp>  // for std::runtime_error, the base of std::system_error
#include <beck/http/status.hpp>
#include <string_view>

namespace beck::http {

/// Thrown by handlers and middlewares, at any depth of calls, to respond with an error:
///   if (at == books.end()) throw http::failure(404, "no such book");
/// The server drops what the handler has set, and responds with this status and an error page (see
/// error_page.hpp), whose text is what(). It does not count as a handler that has failed. Once the
/// response has begun it is an exception like any other: the connection is cut.
class failure : public std::runtime_error {
 public:
  /// Makes one. `text`: a sentence for the client; the reason of the status if it is empty. Throws
  /// std::invalid_argument unless 400 <= status <= 599; std::bad_alloc.
  explicit failure(unsigned status, std::string_view text = {});
  /// As above, with the name of the status.
  explicit failure(http::status s, std::string_view text = {}) : failure(number_of(s), text) {}
  /// Out of line, for one type_info, also across shared libraries.
  ~failure() override;
  failure(const failure&) = default;
  failure& operator=(const failure&) = default;

  /// Returns the status of the response.
  http::status status() const noexcept { return status_; }

 private:
  http::status status_;
};

}  // namespace beck::http
