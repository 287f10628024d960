// SPDX-License-Identifier: BSL-1.0
//
// The HTTP service of the benchmark http, which every server offers: the same response to each
// request, of the same bytes. The client is a program of its own (harness/serving.py).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bench {

/// The job of a server, from its command line.
struct http_service {
  std::string backend = "io_uring";  // --backend io_uring|epoll, beck's peers only
  std::size_t body_bytes = 1024;     // --body N
  std::string file;                  // --file PATH: the body is this file
  std::string form;                  // --form NAME: one of several ways to write the same server
  bool close = false;                // --close: a connection for each request

  /// Parses the arguments. If they are wrong, prints the error and ends the program with status 2.
  static http_service from_arguments(int argc, char** argv);
  /// Returns the body: `body_bytes` printable bytes.
  std::string body() const;
};

/// The fields of each response besides Date and Content-Length. nginx sends as many bytes: its
/// Server is as long, and "Connection: keep-alive" as long as the third. A response that closes has
/// "Connection: close" instead.
inline constexpr std::string_view http_server_name = "bench";
inline constexpr std::string_view http_content_type = "text/plain";
inline constexpr std::string_view http_filler_name = "Cache-Control";
inline constexpr std::string_view http_filler = "private";

/// Returns the value of the field Date, which is formatted once a second.
std::string_view http_date();
/// Returns a head with these fields, Date and Content-Length.
std::string http_head(const http_service& s, std::size_t length);

/// Returns a descriptor that listens on a free port of the loopback; it does not block.
int http_listener();
/// Tells the harness that the server accepts connections on this port.
void http_ready(unsigned port);
/// As above, for a listener of its own.
void http_ready_on(int listener);

}  // namespace bench
