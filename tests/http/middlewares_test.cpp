// SPDX-License-Identifier: BSL-1.0
// The middlewares of the library: pages of other origins, limits of load, fields of all responses.
#include <beck/http/failure.hpp>
#include <beck/http/middlewares.hpp>
#include <beck/http/router.hpp>

#include <beck/coro/event.hpp>
#include <beck/testing/sim.hpp>

#include <chrono>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "http/both_streams.hpp"
#include "http/served.hpp"
#include "http/server_site.hpp"

using namespace beck::http::test;
using beck::task;
namespace http = beck::http;
using http::cors_options;

namespace {

std::string ask_for(std::string_view method, std::string_view path, std::string_view more = {}) {
  return std::string(method) + ' ' + std::string(path) +
         " HTTP/1.1\r\nHost: site.example\r\nConnection: close\r\n" + std::string(more) + "\r\n";
}
std::string from(std::string_view origin, std::string_view more = {}) {
  return "Origin: " + std::string(origin) + "\r\n" + std::string(more);
}

std::string value_of(const seen_response& seen, std::string_view name) {
  const std::size_t at = seen.fields.find("\r\n" + std::string(name) + ": ");
  if (at == std::string::npos) return "-";
  const std::size_t begin = at + name.size() + 4;
  return seen.fields.substr(begin, seen.fields.find('\r', begin) - begin);
}

seen_response only(std::vector<seen_response> all) {
  REQUIRE(all.size() == 1);
  return std::move(all[0]);
}

template <class Call>
bool is_refused(Call call) {
  try {
    call();
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

http::router small_site() {
  http::router site;
  site.get("/", say_path).post("/", say_path).get("/fails", [](http::request&, http::response&) {
    throw http::failure(422);
  });
  return site;
}

}  // namespace

CONFORMANCE_OVER_BOTH("http: pages of allowed origins read responses, those of others do not") {
  http::router site = small_site();
  site.use(http::cors(cors_options()
                          .origin("https://app.example")
                          .origin("http://localhost:8080")
                          .exposes("X-Count")
                          .credentials()));
  served s(site);
  for (const char* path : {"/", "/none", "/fails"}) {
    CAPTURE(path);
    for (const char* origin : {"https://app.example", "http://localhost:8080"}) {
      const auto seen = only(s.ask(ask_for("GET", path, from(origin))));
      CHECK(value_of(seen, "Access-Control-Allow-Origin") == origin);
      CHECK(value_of(seen, "Access-Control-Allow-Credentials") == "true");
      CHECK(value_of(seen, "Access-Control-Expose-Headers") == "X-Count");
      CHECK(value_of(seen, "Vary") == "Origin");
    }
    for (const char* origin : {"https://other.example", "https://app.example.evil", "null",
                               "http://app.example", "https://app.example:444"}) {
      CAPTURE(origin);
      const auto seen = only(s.ask(ask_for("GET", path, from(origin))));
      CHECK(seen.status != 403);  // its browser keeps it from the page
      CHECK(value_of(seen, "Access-Control-Allow-Origin") == "-");
      CHECK(value_of(seen, "Access-Control-Allow-Credentials") == "-");
      CHECK(value_of(seen, "Vary") == "Origin");
    }
    const auto seen = only(s.ask(ask_for("GET", path)));
    CHECK(value_of(seen, "Access-Control-Allow-Origin") == "-");
    CHECK(value_of(seen, "Vary") == "Origin");
  }
}

CONFORMANCE_OVER_BOTH("http: questions of browsers are answered before the handlers") {
  http::router site = small_site();
  int calls = 0;
  site.use(http::cors(cors_options()
                          .origin("https://app.example")
                          .methods("PUT, DELETE")
                          .fields("Content-Type")
                          .max_age(10min)),
           [&calls](http::request& q, http::response& r, http::next rest) {
             ++calls;
             return rest(q, r);
           });
  served s(site);
  const std::string_view asks = "Access-Control-Request-Method: PUT\r\n";
  for (const char* path : {"/", "/none", "*"}) {
    const auto seen = only(s.ask(ask_for("OPTIONS", path, from("https://app.example", asks))));
    CHECK(seen.status == 204);
    CHECK(value_of(seen, "Access-Control-Allow-Origin") == "https://app.example");
    CHECK(value_of(seen, "Access-Control-Allow-Methods") == "PUT, DELETE");
    CHECK(value_of(seen, "Access-Control-Allow-Headers") == "Content-Type");
    CHECK(value_of(seen, "Access-Control-Max-Age") == "600");
    CHECK(value_of(seen, "Access-Control-Allow-Credentials") == "-");
  }
  const auto other = only(s.ask(ask_for("OPTIONS", "/", from("https://other.example", asks))));
  CHECK(other.status == 204);
  CHECK(value_of(other, "Access-Control-Allow-Origin") == "-");
  CHECK(value_of(other, "Access-Control-Allow-Methods") == "-");
  CHECK(value_of(other, "Vary") == "Origin");
  CHECK(calls == 0);
  const auto get = only(s.ask(ask_for("GET", "/", from("https://app.example", asks))));
  CHECK(get.body == "/");  // no question, whatever it says
  CHECK(calls == 1);
  const auto plain = only(s.ask(ask_for("OPTIONS", "/", from("https://app.example"))));
  CHECK(has(value_of(plain, "Allow"), "GET"));
  CHECK(value_of(plain, "Access-Control-Allow-Origin") == "https://app.example");
  CHECK(calls == 2);
}

CONFORMANCE_OVER_BOTH("http: any origin is a star, without Vary and credentials") {
  http::router site = small_site();
  site.use(http::cors(cors_options().any_origin()));
  served s(site);
  const auto seen = only(s.ask(ask_for("GET", "/", from("https://x.example"))));
  CHECK(value_of(seen, "Access-Control-Allow-Origin") == "*");
  CHECK(value_of(seen, "Access-Control-Allow-Credentials") == "-");
  CHECK(value_of(seen, "Vary") == "-");
}

TEST_CASE("http: rules of origins that browsers would never match are refused") {
  for (const char* text : {"", "app.example", "https://app.example/", "https://App.example", "null",
                           "*", "https://app.example:443", "http://a.example:80", "ftp://a.example",
                           "https://user@a.example", "https://a.example?x", "https://a.example#x",
                           "https://a.example:99999", "https://a.example/a.example",
                           "https://a.example?a.example", "https://a.example#a.example"}) {
    CAPTURE(text);
    CHECK(is_refused([&] { cors_options().origin(text); }));
    CHECK(is_refused([&] { http::same_origin().trust(text); }));
  }
  for (const char* text :
       {"https://a.example", "http://a.example:8080", "http://127.0.0.1", "https://[::1]:8443"}) {
    CAPTURE(text);
    CHECK_FALSE(is_refused([&] { cors_options().origin(text); }));
  }
  CHECK(is_refused([] { cors_options().methods("PUT DELETE"); }));
  CHECK(is_refused([] { cors_options().fields("a\r\nb"); }));
  CHECK(is_refused([] { cors_options().exposes("a,,b"); }));
  CHECK(is_refused([] { http::cors(cors_options().any_origin().credentials()); }));
}

CONFORMANCE_OVER_BOTH("http: requests that pages of other origins cause change nothing") {
  http::router site = small_site();
  site.use(http::same_origin().trust("https://friend.example"));
  served s(site);
  const struct {
    const char* fields;
    unsigned status;
  } cases[] = {
      {"", 200},  // no browser
      {"Sec-Fetch-Site: same-origin\r\n", 200},
      {"Sec-Fetch-Site: none\r\n", 200},
      {"Sec-Fetch-Site: cross-site\r\n", 403},
      {"Sec-Fetch-Site: same-site\r\n", 403},
      {"Sec-Fetch-Site: new-word\r\n", 403},
      {"Sec-Fetch-Site: same-origin\r\nOrigin: https://other.example\r\n", 200},
      {"Sec-Fetch-Site: cross-site\r\nOrigin: http://site.example\r\n", 403},
      {"Sec-Fetch-Site: cross-site\r\nOrigin: https://friend.example\r\n", 200},
      {"Origin: http://site.example\r\n", 200},
      {"Origin: https://site.example\r\n", 200},
      {"Origin: https://SITE.example\r\n", 200},
      {"Origin: https://friend.example\r\n", 200},
      {"Origin: https://other.example\r\n", 403},
      {"Origin: https://site.example.evil\r\n", 403},
      {"Origin: http://site.example:8080\r\n", 403},
      {"Origin: null\r\n", 403},
  };
  for (const auto& [fields, status] : cases) {
    CAPTURE(fields);
    CHECK(only(s.ask(ask_for("POST", "/", fields))).status == status);
    CHECK(only(s.ask(ask_for("GET", "/", fields))).status == 200);
  }
  const auto refused = only(s.ask(ask_for("DELETE", "/none", "Sec-Fetch-Site: cross-site\r\n")));
  CHECK(refused.status == 403);
  CHECK(refused.body == "a page of another origin has sent this request\n");
}

CONFORMANCE_OVER_BOTH("http: fields are added to all responses, unless the handler has set them") {
  http::router site = small_site();
  site.get("/own", [](http::request&, http::response& r) {
    r.set("x-frame-options", "SAMEORIGIN").send();
  });
  site.use(http::add_fields({{"X-Frame-Options", "DENY"}, {"Referrer-Policy", "same-origin"}}));
  served s(site);
  for (const char* path : {"/", "/none", "/fails"}) {
    const auto seen = only(s.ask(last_get(path)));
    CHECK(value_of(seen, "X-Frame-Options") == "DENY");
    CHECK(value_of(seen, "Referrer-Policy") == "same-origin");
  }
  const auto own = only(s.ask(last_get("/own")));
  CHECK(value_of(own, "x-frame-options") == "SAMEORIGIN");
  CHECK(value_of(own, "X-Frame-Options") == "-");
  CHECK(value_of(own, "Referrer-Policy") == "same-origin");
  CHECK(is_refused([] { http::add_fields({{"a b", "c"}}); }));
  CHECK(is_refused([] { http::add_fields({{"a", "c\r\n"}}); }));
  CHECK(is_refused([] { http::add_fields({{"Content-Length", "1"}}); }));
}

CONFORMANCE_OVER_BOTH("http: at most so many requests are inside at a time") {
  beck::manual_reset_event go;
  int inside = 0;
  http::router site;
  site.get("/wait", [&](http::request&, http::response& r) -> task<> {
    ++inside;
    beck::ignore(co_await go.wait());
    r.send("done");
  });
  site.get("/throws", [](http::request&, http::response&) { throw http::failure(422); });
  site.use(http::at_most(2));
  served s(site);
  peer& one = s.start(last_get("/wait"));
  peer& two = s.start(last_get("/wait"));
  s.run_until([&] { return inside == 2; });
  for (int i = 0; i < 3; ++i) {
    const auto refused = only(s.ask(last_get("/wait")));
    CHECK(refused.status == 503);
    CHECK(value_of(refused, "Retry-After") == "1");
  }
  CHECK(inside == 2);
  go.set();
  s.run_until([&] { return one.done && two.done; });
  CHECK(only(one.responses()).body == "done");
  for (int i = 0; i < 5; ++i) CHECK(only(s.ask(last_get("/throws"))).status == 422);
  CHECK(only(s.ask(last_get("/wait"))).status == 200);
  CHECK(is_refused([] { http::at_most(0); }));
}

TEST_CASE("http: a client that sends too many requests waits, another one does not") {
  http::router limited;
  limited.get("/", say_path).use(http::rate_limit(2, 3));
  site s(limited);
  const auto status_of = [&s](const char* of) {
    peer& asks = s.start(ask_for("GET", "/", std::string("X-Forwarded-For: ") + of + "\r\n"));
    s.listen_to(asks, 10ms);
    const auto seen = asks.responses();
    REQUIRE(seen.size() == 1);
    return std::pair(seen[0].status, value_of(seen[0], "Retry-After"));
  };
  using seen = std::pair<unsigned, std::string>;
  s.server.behind_proxy("10.0.0.0/8");
  for (const char* client : {"192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8:0:1::1"}) {
    CAPTURE(client);
    for (int i = 0; i < 3; ++i) CHECK(status_of(client) == seen(200, "-"));
    CHECK(status_of(client) == seen(429, "1"));
  }
  CHECK(status_of("2001:db8::ffff:1") == seen(429, "1"));  // of the same /64
  s.world.run_for(500ms);                                  // one more each
  CHECK(status_of("192.0.2.1") == seen(200, "-"));
  CHECK(status_of("192.0.2.1") == seen(429, "1"));
  s.world.run_for(10s);  // no more than the burst
  for (int i = 0; i < 3; ++i) CHECK(status_of("192.0.2.1") == seen(200, "-"));
  CHECK(status_of("192.0.2.1") == seen(429, "1"));
}

TEST_CASE("http: thousands of clients have their own rates") {
  http::router limited;
  limited.get("/", say_path).use(http::rate_limit(0.001, 1));
  site s(limited);
  s.server.behind_proxy("10.0.0.0/8");
  constexpr std::size_t clients = 3000, at_once = 50;
  std::vector<std::string> texts;  // they live until they are sent
  for (std::size_t i = 0; i < 2 * clients; ++i) {
    if (i % at_once == 0) texts.emplace_back();
    const std::size_t client = i % clients;
    texts.back() += "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 198.18." +
                    std::to_string(client / 256) + '.' + std::to_string(client % 256) + "\r\n\r\n";
  }
  texts.push_back(last_get("/"));
  peer& asks = s.start();
  for (const std::string& text : texts) s.step(asks, text);
  s.listen_to(asks, 60s);
  const auto seen = asks.responses();
  REQUIRE(seen.size() == 2 * clients + 1);
  for (std::size_t i = 0; i < clients; ++i) CHECK(seen[i].status == 200);
  for (std::size_t i = clients; i < 2 * clients; ++i) CHECK(seen[i].status == 429);
}

TEST_CASE("http: the wait of a slow rate is said in seconds, and rates have bounds") {
  http::router limited;
  limited.get("/", say_path).use(http::rate_limit(0.1, 1));
  site s(limited);
  const auto ask = [&s] {
    peer& asks = s.start(ask_for("GET", "/"));
    s.listen_to(asks, 10ms);
    const auto seen = asks.responses();
    REQUIRE(seen.size() == 1);
    return value_of(seen[0], "Retry-After");
  };
  CHECK(ask() == "-");
  CHECK(ask() == "10");
  s.world.run_for(8s);
  CHECK(ask() == "2");
  for (const double bad : {0.0, -1.0, 1.1e9, std::numeric_limits<double>::quiet_NaN()})
    CHECK(is_refused([&] { http::rate_limit(bad, 1); }));
  CHECK(is_refused([] { http::rate_limit(1, 0); }));
  CHECK_FALSE(is_refused([] { http::rate_limit(1e-300, 4'000'000'000); }));
}
