// SPDX-License-Identifier: BSL-1.0
// A user's program with something from each library but TLS; exits with 0 if all of it works.
#include <beck/http/client_error.hpp>
#include <beck/net/address.hpp>
#include <beck/redis/error.hpp>
#include <beck/redis/memory_server.hpp>
#include <beck/websocket/error.hpp>

#include <cstdio>
#include <cstring>
#include <system_error>

namespace {

int failures = 0;

void expect(bool holds, const char* sentence) {
  if (holds) return;
  std::fprintf(stderr, "this does not hold: %s\n", sentence);
  ++failures;
}

bool has_text(const std::error_code& error) { return error && !error.message().empty(); }

}  // namespace

int main() {
  expect(has_text(make_error_code(beck::http::client_error::no_response)), "http is there");
  expect(has_text(make_error_code(beck::redis::error::noauth)), "redis is there");
  beck::io_context context;
  const beck::ip::tcp::endpoint here(beck::ip::address_v4::loopback(), 0);
  expect(beck::redis::memory_server(context, here).port() != 0, "redis_testing is there");
  expect(has_text(make_error_code(beck::websocket::stream_error::cut_short)), "websocket is there");
  bool caught = false;
  try {
    static_cast<void>(beck::ip::make_address("not an address"));
  } catch (const beck::io_error& error) {
    caught = std::strcmp(error.what(), "") != 0;
  }
  expect(caught, "an exception of the library is caught by its type");
  return failures;
}
