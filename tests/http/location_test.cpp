// SPDX-License-Identifier: BSL-1.0
// Locations as servers write them, and targets as proxies pass them on.
#include "http/message/location.hpp"

#include <beck/http/url.hpp>

#include <string>

#include "http/client_site.hpp"
#include "http/served.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
namespace http = beck::http;
using http::detail::encode_location;
using http::detail::is_target;

TEST_CASE("http: a Location gets the codes that a browser would give it") {
  CHECK(encode_location("") == "");
  CHECK(encode_location("/a?b#c") == "/a?b#c");
  CHECK(encode_location("/a b?c[]=d|e#f g") == "/a%20b?c%5B%5D=d%7Ce#f%20g");
  CHECK(encode_location("/100%/%41%4") == "/100%25/%41%254");
  CHECK(encode_location("/\xC3\xA4?\xFF") == "/%C3%A4?%FF");
  CHECK(encode_location("x[1]") == "x%5B1%5D");
  CHECK(encode_location("?a#b#c") == "?a#b%23c");
  CHECK(encode_location("http://[::1]:8/[x]?[y]") == "http://[::1]:8/%5Bx%5D?%5By%5D");
  CHECK(encode_location("//[::1]") == "//[::1]");
  CHECK(encode_location("http://a b/c d") == "http://a b/c%20d");  // the host is not repaired
  CHECK(encode_location("//u@a\\b/") == "//u@a\\b/");
  for (int byte = 0; byte < 256; ++byte) {  // what is left is a URL's
    CAPTURE(byte);
    const std::string text = "http://a/" + std::string(1, static_cast<char>(byte)) + "?" +
                             std::string(1, static_cast<char>(byte));
    http::url to;
    const std::string encoded = encode_location(text);
    CHECK(http::parse_url(encoded, to) == http::url_error::none);
    CHECK(encode_location(encoded) == encoded);
  }
}

TEST_CASE("http: a target is what the server's parser takes for one") {
  for (int byte = 0; byte < 256; ++byte) {
    CAPTURE(byte);
    const std::string target = "/a" + std::string(1, static_cast<char>(byte)) + "b";
    http::request_parser parser{http::head_limits()};
    http::request_head head;
    const std::string text = "GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n";
    const bool taken =
        parser.parse(text, head) == http::parse_status::done && head.target() == target;
    CHECK(is_target(target, false) == taken);
  }
  CHECK(!is_target("", true));
  CHECK(!is_target("a", false));
  CHECK(!is_target("*", false));
  CHECK(is_target("*", true));
  CHECK(!is_target("http://a/", false));
}

CONFORMANCE("http client: a target is sent as it is, and refused where a server would refuse it") {
  client_site s;
  for (const char* target : {"/a?b[]=1&c=%zz|\"<>\\^`{}", "/", "/%2F//../.", "/?"}) {
    CAPTURE(target);
    s.server.will(ok("x"));
    http::call ask(*s.web, http::method::get, s.url("/other"));
    CHECK(s.finish(ask.target(target).async_finish()).body == "x");
    const std::string line = "GET " + std::string(target) + " HTTP/1.1\r\n";
    CHECK(s.server.requests.back().head.substr(0, line.size()) == line);
  }
  s.server.will(ok("x"));
  http::call star(*s.web, http::method::options, s.url());
  CHECK(s.finish(star.target("*").async_finish()).status == 200);
  CHECK(contains(s.server.requests.back().head, "OPTIONS * HTTP/1.1\r\n"));
  const std::size_t before = s.server.requests.size();
  for (const std::string& bad : {std::string("/a b"), std::string("/#"), std::string("/\xC3"),
                                 std::string("*"), std::string(), std::string("/\r\nX: y"),
                                 std::string("http://a/"), "/" + std::string(9'000, 'x')}) {
    CAPTURE(bad);
    http::call ask(*s.web, http::method::get, s.url());
    CHECK(s.finish(ask.target(bad).async_finish()).ec == http::client_error::bad_url);
  }
  CHECK(s.server.requests.size() == before);
}

CONFORMANCE("http client: a Location that is no URL is followed as browsers do") {
  client_site s({.redirects = 5});
  const auto to = [&](std::string_view location) {
    s.server.will("HTTP/1.1 302 F\r\nLocation: " + std::string(location) +
                  "\r\nContent-Length: 0\r\n\r\n");
    s.server.will(ok("end"));
  };
  to("/b c?d[]=\xC3\xA4");
  CHECK(s.get("/a").url == s.url("/b%20c?d%5B%5D=%C3%A4"));
  to("?e|f");  // of the path that was asked for, which was no URL either
  http::call ask(*s.web, http::method::get, s.url("/other"));
  CHECK(s.finish(ask.target("/g[h").async_finish()).url == s.url("/g%5Bh?e%7Cf"));
  CHECK(contains(s.server.requests.back().head, "GET /g%5Bh?e%7Cf HTTP/1.1\r\n"));
}

CONFORMANCE("http client: a status from 600 to 999 is a response, which is no success") {
  client_site s({.redirects = 5});
  for (const unsigned number : {600U, 777U, 999U}) {
    s.server.will("HTTP/1.1 " + std::to_string(number) + " X\r\nContent-Length: 1\r\n\r\nx");
    const outcome& got = s.get();
    CHECK(!got.ec);
    CHECK(got.status == number);
    CHECK(got.body == "x");
  }
  CHECK(s.server.connections() == 1);
}
