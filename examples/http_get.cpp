// SPDX-License-Identifier: BSL-1.0
//
// Gets URLs, all at once, over at most 8 connections to a server. Prints a line for each: status,
// bytes and URL, or why there is no response. The bodies are read as streams and dropped.
//   http_get [--roots FILE] [--proxies] URL...
// https is verified against the system's roots, or those of the file. --proxies: goes through the
// proxies that the environment names (http_proxy, https_proxy, no_proxy).
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/http/client.hpp>
#include <beck/http/proxies.hpp>
#include <beck/io/io_context.hpp>
#include <beck/tls/client_context.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

namespace http = beck::http;

namespace {

constexpr beck::duration limit(30'000'000'000);  // for a response's head, redirects included

/// Returns whether the URL was got whole, with status 200.
beck::task<bool> get(http::client& web, std::string url) {
  auto got = co_await beck::timeout(web.async_get(url), limit);
  if (got.error()) {
    const std::string why = got->error_text();
    std::printf("--- %s\n", why.empty() ? got.error().message().c_str() : why.c_str());
    co_return false;
  }
  const http::client_response page = std::move(got).value();
  unsigned long long bytes = 0;
  char part[16384];
  for (;;) {
    const auto [ec, n] = co_await page.body().async_read_some(beck::buffer(part));
    bytes += n;
    if (ec == beck::error::eof) break;
    if (ec) {
      std::printf("--- %s: %s after %llu bytes\n", url.c_str(), ec.message().c_str(), bytes);
      co_return false;
    }
  }
  std::printf("%u %llu %s\n", beck::http::number_of(page.status()), bytes,
              std::string(page.url()).c_str());
  co_return page.status() == http::status::ok;
}

}  // namespace

int main(int argc, char** argv) try {
  beck::tls::authorities roots;
  int first = 1;
  const auto is_option = [&](const char* name) {
    return first < argc && std::string_view(argv[first]) == name;
  };
  if (is_option("--roots") && argc > 2) {
    roots.file(argv[2]);
    first = 3;
  }
  const bool uses_proxies = is_option("--proxies");
  if (uses_proxies) ++first;
  if (argc <= first) {
    std::fprintf(stderr, "usage: http_get [--roots FILE] [--proxies] URL...\n");
    return 2;
  }
  beck::tls::client_context trust(beck::tls::client_options().trust(roots));
  beck::io_context context;
  http::client web(context, {.redirects = 10});
  web.secure(trust);
  if (uses_proxies) web.through(http::proxies::from_environment());
  int left = argc - first;
  bool all = true;
  for (int i = first; i < argc; ++i) {
    get(web, argv[i]).start(context, [&](bool good) {
      all = all && good;
      if (--left == 0) web.close_idle();  // nothing is left to wait for
    });
  }
  context.run();
  return all ? 0 : 1;
} catch (const std::exception& e) {  // such as roots that cannot be read
  std::fprintf(stderr, "http_get: %s\n", e.what());
  return 1;
}
