// SPDX-License-Identifier: BSL-1.0
// The second try of a call whose idle connection had ended, and the calls that have none.
#include <beck/http/client.hpp>

#include <string>

#include "http/client_site.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
using beck::error_code;
namespace http = beck::http;

CONFORMANCE("http client retry: a call is sent again if its idle connection had ended") {
  for (const after how : {after::end, after::reset}) {
    client_site s;
    s.server.will(ok("a"));
    CHECK(s.get().body == "a");
    s.server.will("", how);  // it ends instead of answering, as a server that closes idle ones
    s.server.will(ok("b"));
    const outcome& again = s.get("/again");
    CHECK(again.body == "b");
    CHECK(s.web->stats().retries == 1);
    REQUIRE(s.server.requests.size() == 3);
    CHECK(s.server.requests[1].head == s.server.requests[2].head);
    CHECK(s.server.requests[2].connection == 1);
  }
}

CONFORMANCE("http client retry: a body that is given whole is sent again, too") {
  client_site s;
  s.server.will(ok("a"));
  CHECK(s.get().body == "a");
  s.server.will("", after::end);
  s.server.will(ok("b"));
  const std::string body(1000, 'p');
  CHECK(s.finish(s.web->async_put(s.url(), "a/b", beck::buffer(body))).body == "b");
  CHECK(s.server.requests.at(2).body == body);
}

CONFORMANCE_ON(beck::test::sim,
               "http client retry: a call that is sent again waits for 100 again") {
  client_site s;
  s.server.will(ok("a"));
  CHECK(s.get().body == "a");
  s.server.will("", after::end);
  s.server.will("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
  const std::string body(1000, 'p');
  http::call put(*s.web, http::method::put, s.url());
  unsigned status = 0;
  put.expect_continue().async_finish(beck::buffer(body),
                                     [&](error_code, http::client_response got) {
                                       if (got) status = beck::http::number_of(got.status());
                                     });
  s.run_until([&] { return s.server.requests.size() == 2; });  // with its body, after a second
  s.server.answers_early = true;
  s.run_until([&] { return status != 0; });
  CHECK(status == 401);
  CHECK(s.web->stats().retries == 1);
  s.run_until([&] { return s.web->stats().connections == 0 && s.server.ends == 1; });
  CHECK(s.server.requests.size() == 3);
  CHECK(s.server.dropped == 0);  // the body was not sent
}

CONFORMANCE("http client retry: nothing is sent twice that could have had an effect") {
  struct once {
    const char* method;
    bool on_fresh;
    const char* bytes;
  };
  for (const once& one : {once{"POST", false, ""}, once{"PATCH", false, ""}, once{"X", false, ""},
                          once{"GET", true, ""}, once{"GET", false, "H"},
                          once{"GET", false, "HTTP/1.1 100 Continue\r\n\r\n"}}) {
    CAPTURE(one.method);
    CAPTURE(one.bytes);
    client_site s;
    std::size_t before = 0;
    if (!one.on_fresh) {
      s.server.will(ok("a"));
      CHECK(s.get().body == "a");
      before = 1;
    }
    s.server.will(one.bytes, after::end);
    s.server.will(ok("never"));
    http::call c(*s.web, one.method, s.url());
    CHECK(s.finish(c.async_finish()).ec == beck::errc::connection_reset);
    CHECK(s.server.requests.size() == before + 1);
    CHECK(s.web->stats().retries == 0);
  }
}

CONFORMANCE(
    "http client: a redirect is followed before its body has come, and before the request has "
    "left") {
  client_site s({.redirects = 2});
  s.server.will("HTTP/1.1 302 F\r\nLocation: /b\r\nContent-Length: 10\r\n\r\nabc");  // and no more
  s.server.will(ok("b"));
  CHECK(s.get("/a").body == "b");
  CHECK(s.server.requests.back().connection == 1);
  s.server.will("HTTP/1.1 307 F\r\nLocation: /d\r\nContent-Length: 0\r\n\r\n");
  s.server.will(ok("d"));
  s.server.answers_early = true;
  http::call put(*s.web, http::method::put, s.url("/c"));
  CHECK(s.finish(put.expect_continue().async_finish(beck::buffer("large", 5))).body == "d");
  CHECK(s.server.requests.back().head.find("PUT /d") == 0);
}
