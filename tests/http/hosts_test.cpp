// SPDX-License-Identifier: BSL-1.0
// The choice of a handler by the host of a request, and the redirect to https.
#include <beck/http/hosts.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

#include "http/served.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
using beck::task;
namespace http = beck::http;

namespace {

auto says(const char* text) {
  return [text](http::request& q, http::response& r) {
    r.send(std::string(text) + " " + std::string(q.path()));
  };
}

std::string get_of(std::string_view host, std::string_view target = "/x") {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: " + std::string(host) +
         "\r\nConnection: close\r\n\r\n";
}

seen_response ask_one(served& s, const std::string& text) {
  const auto all = s.ask(text);
  REQUIRE(all.size() == 1);
  return all[0];
}

}  // namespace

CONFORMANCE("http hosts: the name decides, in any case, without port and dot") {
  http::router inner;
  inner.get("/x", says("router"));
  http::hosts sites;
  sites.on("A.example", says("a")).on("*.a.example", says("any a")).on("b.a.example", says("b"));
  sites.on("*.c.a.Example", [](http::request&, http::response& r) -> task<> {
    r.send("any c");
    co_return;
  });
  sites.on("d.example", [](http::exchange x) { x.response().send("exchange"); });
  sites.on("e.example", inner).on("127.0.0.1", says("v4")).on("[::1]", says("v6"));
  served s(sites);
  const struct {
    const char* host;
    const char* body;
  } known[] = {{"a.example", "a /x"},       {"a.example:8080", "a /x"},
               {"a.EXAMPLE.:80", "a /x"},   {"b.a.example", "b /x"},
               {"x.a.example", "any a /x"}, {"x.y.a.example:1", "any a /x"},
               {"c.a.example", "any a /x"}, {"x.b.a.example", "any a /x"},
               {"x.c.a.example", "any c"},  {"x.y.c.a.example.", "any c"},
               {"d.example", "exchange"},   {"e.example", "router /x"},
               {"127.0.0.1:80", "v4 /x"},   {"[::1]", "v6 /x"},
               {"[::1]:8080", "v6 /x"}};
  for (const auto& [host, body] : known) {
    CAPTURE(host);
    const seen_response r = ask_one(s, get_of(host));
    CHECK(r.status == 200);
    CHECK(r.body == body);
  }
  CHECK(ask_one(s, get_of("e.example", "/none")).status == 404);
  CHECK(ask_one(s, get_of("a.example", "http://a.example/y")).body == "a /y");
  CHECK(ask_one(s, "OPTIONS * HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n").status ==
        204);
}

CONFORMANCE("http hosts: another host is 421, or for otherwise()") {
  const std::string longest = std::string(251, 'x') + ".a.b";
  http::hosts sites;
  sites.on("a.example", says("a")).on("*.w.example", says("w")).on(longest, says("long"));
  http::hosts copy(sites);
  const std::string hosts[] = {"b.example",   "aa.example", "example",     "a.example.com",
                               "w.example",   "w.example.", "xw.example",  "a.exampl",
                               "a.example..", "[::1]",      "x" + longest, longest + ".c",
                               ".w.exampl",   ".w.example", "127.0.0.1",   std::string(4000, 'y')};
  {
    served s(sites);
    for (const std::string& host : hosts) {
      CAPTURE(host);
      CHECK(ask_one(s, get_of(host)).status == 421);
    }
    CHECK(ask_one(s, "GET / HTTP/1.0\r\n\r\n").status == 421);
    CHECK(ask_one(s, get_of(longest)).body == "long /x");
    CHECK_THROWS_AS(copy.on("new.example", says("new")), std::logic_error);
    CHECK_THROWS_AS(copy.otherwise(says("new")), std::logic_error);
  }
  http::hosts others;
  others.on("a.example", says("a")).otherwise(says("others"));
  served s(others);
  for (const std::string& host : hosts) {
    const seen_response r = ask_one(s, get_of(host));
    CHECK(r.status == 200);
    CHECK(r.body == "others /x");
  }
  CHECK(ask_one(s, get_of("a.example")).body == "a /x");
  CHECK(ask_one(s, "GET /0 HTTP/1.0\r\n\r\n").body == "others /0");
}

CONFORMANCE("http hosts: they are served below middlewares, mounts and in handlers") {
  http::hosts sites;
  sites.on("a.example", says("a"));
  http::router outer;
  outer.use([](http::request& q, http::response& r, http::next rest) {
    r.set("X-Outer", "1");
    return rest(q, r);
  });
  outer.mount("/below", sites);
  outer.get("/inside",
            [sites](http::request& q, http::response& r) -> task<> { co_await sites(q, r); });
  served s(outer);
  const seen_response below = ask_one(s, get_of("a.example", "/below/x"));
  CHECK(below.body == "a /x");
  CHECK(below.fields.find("X-Outer: 1") != std::string::npos);
  CHECK(ask_one(s, get_of("b.example", "/below/x")).status == 421);
  CHECK(ask_one(s, get_of("a.example", "/inside")).body == "a /inside");
  CHECK(ask_one(s, get_of("b.example", "/inside")).status == 421);
}

TEST_CASE("http hosts: names that are no hosts are refused with their reason") {
  const auto refused = [](std::string_view name, std::string_view reason) {
    http::hosts sites;
    sites.on("known.example", says("")).on("*.known.example", says(""));
    try {
      sites.on(name, says(""));
    } catch (const std::invalid_argument& e) {
      const std::string_view text = e.what();
      return text.find(reason) != std::string_view::npos &&
             text.find(name.substr(0, 20)) != std::string_view::npos;
    }
    return false;
  };
  for (const char* name : {"", "*."}) CHECK(refused(name, "no name"));
  CHECK(refused(std::string_view(), "no name"));
  for (const char* name : {"a.example:80", "[::1]:80", ":", "a:", "::1"})
    CHECK(refused(name, "a port"));
  for (const char* name : {".a", "a.", "a..b", "*..a"}) CHECK(refused(name, "an empty part"));
  for (const char* name : {"*", "a.*.b", "*a.b", "a/b", "a b", "a@b", "[::1", "[]", "[x]", "*.[1]",
                           "\xc3\xa4.example"})
    CHECK(refused(name, "a character"));
  CHECK(refused(std::string(256, 'a'), "longer than 255"));
  for (const char* name : {"KNOWN.example", "*.known.Example"})
    CHECK(refused(name, "added already"));
  http::hosts sites;
  sites.otherwise(says(""));
  CHECK_THROWS_AS(sites.otherwise(says("")), std::invalid_argument);
}

CONFORMANCE("http: every request is redirected to the same target over https") {
  http::hosts sites;
  sites.on("a.example", http::redirect_to_https()).otherwise(http::redirect_to_https(8443));
  served s(sites);
  const struct {
    std::string request;
    const char* location;
  } cases[] = {{get_of("a.example:8080", "/a%20b/?c=%20&&d"), "https://a.example/a%20b/?c=%20&&d"},
               {get_of("A.example", "/?"), "https://A.example/?"},
               {get_of("a.example", "http://a.example?x"), "https://a.example/?x"},
               {get_of("[::1]:1", "/"), "https://[::1]:8443/"},
               {"POST /p HTTP/1.1\r\nHost: b\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx",
                "https://b:8443/p"},
               {"OPTIONS /o HTTP/1.1\r\nHost: b\r\nConnection: close\r\n\r\n", "https://b:8443/o"}};
  for (const auto& [request, location] : cases) {
    const seen_response r = ask_one(s, request);
    CAPTURE(request);
    CHECK(r.status == 308);
    CHECK(r.fields.find("\r\nLocation: " + std::string(location) + "\r\n") != std::string::npos);
  }
  CHECK(ask_one(s, "GET / HTTP/1.0\r\n\r\n").status == 400);
  served all{http::redirect_to_https()};  // also of paths that no router takes
  CHECK(ask_one(all, get_of("b", "/a//../%2F%zz?d"))
            .fields.find("\r\nLocation: https://b/a//../%2F%zz?d\r\n") != std::string::npos);
}
