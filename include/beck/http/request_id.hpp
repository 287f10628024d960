// SPDX-License-Identifier: BSL-1.0
//
// A middleware: an id for each request, by which logs, error pages and other services name it.
#pragma once

#include <beck/http/middleware.hpp>

namespace beck::http {

/// Gives each request an id: that of the client's field X-Request-ID, if it has 1 to 64 letters,
/// digits, '-', '.', '_' and '~'; else 32 random hexadecimal digits. Use it as the outermost one:
///   site.use(http::request_id(), ...);
/// The response has it in X-Request-ID, also an error page; the program gets it from request::id(),
/// exchange_record::id and error_page::request_id(). A client can choose an id that another request
/// has. Thread: any. Throws std::bad_alloc.
class request_id {
 public:
  pending operator()(request& q, response& r, next rest) const;
};

}  // namespace beck::http
