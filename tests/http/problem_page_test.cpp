// SPDX-License-Identifier: BSL-1.0
// Problem documents, and the ids of requests, which they have.
#include <beck/http/error_page.hpp>
#include <beck/http/request_id.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>

#include <set>
#include <string>
#include <vector>

#include "http/shown_page.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
namespace http = beck::http;

CONFORMANCE("http: a problem page is JSON, whatever the texts are") {
  std::string text;
  served s(http::router().use(http::request_id()).get("/x", [&](http::request&, http::response& r) {
    r.fail(422, text);
  }));
  s.server.on_error_page(&http::problem_page);
  const struct {
    std::string text;
    std::string detail;
  } cases[] = {
      {"a title, please", "a title, please"},
      {"a \"b\" \\ c", "a \\\"b\\\" \\\\ c"},
      {std::string("x\0\n\x1f\x7f", 5), "x\\u0000\\u000a\\u001f\x7f"},
      {"\xC3\xA4 \xF0\x9F\x98\x80", "\xC3\xA4 \xF0\x9F\x98\x80"},
      {"\xC3 \x80 \xED\xA0\x80", "\xEF\xBF\xBD \xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"", "Unprocessable Content"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.detail);
    text = one.text;
    const auto all = s.ask(get("/x", "X-Request-ID: 7\r\nConnection: close\r\n"));
    REQUIRE(all.size() == 1);
    CHECK(value_of(all[0].fields, "Content-Type") == "application/problem+json");
    CHECK(all[0].body == "{\"title\":\"Unprocessable Content\",\"status\":422,\"detail\":\"" +
                             one.detail + "\",\"request_id\":\"7\"}\n");
  }
  CHECK(s.ask("bad\r\n\r\n").at(0).body ==
        "{\"title\":\"Bad Request\",\"status\":400,\"detail\":\"refused: the request line is not a "
        "method, a target and a version\"}\n");
}

CONFORMANCE("http: each request has an id, which a client may choose if it is harmless") {
  std::vector<std::string> ids;
  http::router site;
  site.use(http::request_id());
  site.get("/x", [](http::request& q, http::response& r) { r.send(q.id()); });
  served s(site);
  s.server.on_finish([&](const http::exchange_record& one) { ids.emplace_back(one.id); });
  s.server.on_error_page([](http::error_page& page) {
    page.body("a/b", "page of " + std::string(page.request_id()));
  });
  const std::string longest(64, 'a');
  for (const std::string& given : {std::string("a-Z_0.9~"), longest}) {
    const auto all = s.ask(get("/x", "X-Request-ID: " + given + "\r\n") +
                           get("/none", "X-Request-ID: " + given + "\r\nConnection: close\r\n"));
    REQUIRE(all.size() == 2);
    CHECK(all[0].body == given);
    CHECK(all[1].body == "page of " + given);
    for (const seen_response& one : all) CHECK(value_of(one.fields, "X-Request-ID") == given);
    CHECK(ids.back() == given);
  }
  std::string former;
  for (const std::string& given : {std::string(), longest + 'a', std::string("a b"),
                                   std::string("a\"<"), std::string("\xC3\xA4")}) {
    const auto all = s.ask(get("/x", "X-Request-ID: " + given + "\r\nConnection: close\r\n"));
    REQUIRE(all.size() == 1);
    CHECK(all[0].body.size() == 32);
    CHECK(all[0].body.find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(all[0].body != former);
    CHECK(value_of(all[0].fields, "X-Request-ID") == all[0].body);
    CHECK(ids.back() == all[0].body);
    former = all[0].body;
  }
  CHECK(s.ask("bad\r\n\r\n").at(0).body == "page of ");
  CHECK(ids.back().empty());
}

CONFORMANCE("http: each request has an id of its own, also those of one connection") {
  std::set<std::string> ids;
  http::router site;
  site.use(http::request_id()).get("/", [&ids](http::request& q, http::response& r) {
    ids.emplace(q.id());
    r.send();
  });
  served s(site);
  std::string asked;
  for (int i = 0; i < 99; ++i) asked += get("/");
  s.ask(asked + last_get("/"));
  CHECK(ids.size() == 100);
  for (const std::string& id : ids) {
    CHECK(id.size() == 32);
    CHECK(id.find_first_not_of("0123456789abcdef") == std::string::npos);
  }
}
