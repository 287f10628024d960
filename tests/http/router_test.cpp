// SPDX-License-Identifier: BSL-1.0
// The router as the handler of a server: every kind of handler behind it, parameters, limits of its
// own for a route, and what it answers itself.
#include <beck/http/router.hpp>
#include <beck/http/static_files.hpp>

#include <memory>
#include <stdexcept>
#include <string>

#include "http/served.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
using beck::task;
namespace http = beck::http;

namespace {

void say_id(http::request& q, http::response& r) {
  r.send("id " + std::string(q.param("id")) + " none " + std::string(q.param("other")));
}

std::string post(std::string_view path, std::string_view body) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

std::string ask_for(std::string_view method, std::string_view path) {
  return std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n";
}

}  // namespace

CONFORMANCE("http: a router calls functions, coroutines and callbacks, with their parameters") {
  http::router site;
  site.get("/plain/{id}", say_id)
      .post("/count", count_body)
      .get("/later/{id}", [](http::exchange x) { x.response().send(x.request().param("id")); })
      .get("/coroutine/{id}/{rest...}", [](http::request& q, http::response& r) -> task<> {
        char end[1];
        beck::ignore(co_await q.body().async_read_some(beck::buffer(end)));
        const std::string text = std::string(q.param("id")) + " " + std::string(q.param("rest"));
        r.send(text);
      });
  served s(site);
  const auto all =
      s.ask(get("/plain/a%20b%2e?c=d") + post("/count", "12345") + get("/later/7") +
            get("/coroutine/x/y/%C3%A4/z") + get("http://a/plain/1") + last_get("/plain/2"));
  REQUIRE(all.size() == 6);
  CHECK(all[0].body == "id a b. none ");
  CHECK(all[1].body == "5");
  CHECK(all[2].body == "7");
  CHECK(all[3].body == "x y/\xc3\xa4/z");
  CHECK(all[4].body == "id 1 none ");
  CHECK(all[5].body == "id 2 none ");
}

CONFORMANCE("http: a router inside a handler serves all that it serves by itself") {
  http::router site;
  int small = 0;
  site.get("/plain/{id}", say_id)
      .post("/count", count_body, {.body_bytes = 4})
      .post("/small",
            [&](http::request&, http::response& r) {
              ++small;
              r.send("small");
            },
            {.body_bytes = 4})
      .get("/coroutine/{id}", [](http::request& q, http::response& r) -> task<> {
        r.send(q.param("id"));
        co_return;
      });
  served s([site](http::request& q, http::response& r) -> task<> {
    if (q.get("X-Key") != "1") {
      r.status(401).send("who?\n");
      co_return;
    }
    r.set("X-Frame-Options", "DENY");
    co_await site(q, r);
  });
  const auto with_key = [](std::string text) {
    return text.insert(text.find("\r\n") + 2, "X-Key: 1\r\n");
  };
  const auto all =
      s.ask(get("/plain/1") + with_key(get("/plain/2")) + with_key(get("/coroutine/3")) +
            with_key(get("/nowhere")) + with_key(ask_for("PUT", "/count")) +
            with_key(post("/count", "1234")) + with_key(last_get("/%ZZ")));
  REQUIRE(all.size() == 7);
  CHECK(all[0].status == 401);
  CHECK(all[1].body == "id 2 none ");
  CHECK(all[2].body == "3");
  CHECK(all[3].status == 404);
  CHECK(has(all[3].fields, "X-Frame-Options: DENY\r\n"));
  CHECK(all[4].status == 405);
  CHECK(has(all[4].fields, "Allow: POST, OPTIONS\r\n"));
  CHECK(all[5].body == "4");
  CHECK(all[6].status == 400);
  const auto length = s.ask(with_key(post("/small", "1234")) + with_key(post("/small", "12345")));
  REQUIRE(length.size() == 2);
  CHECK(length[0].body == "small");
  CHECK(length[1].status == 413);
  CHECK(small == 1);
  const std::string chunked =
      "POST /count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  const auto chunks = s.ask(with_key(chunked));
  REQUIRE(chunks.size() == 1);
  CHECK(chunks[0].status == 413);
}

CONFORMANCE("http: a route of a router inside a handler does not raise the limit of the server") {
  http::router site;
  site.post("/count", count_body, {.body_bytes = 1000});
  served s([site](http::request& q, http::response& r) -> task<> { co_await site(q, r); },
           {.bodies = {.body_bytes = 4}});
  const auto all = s.ask(
      "POST /count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  REQUIRE(all.size() == 1);
  CHECK(all[0].status == 413);
}

CONFORMANCE("http: a router inside a handler refuses too many parameters, and serves exchanges") {
  http::router inner;
  inner.get("/{a}/{b}/{c}/{d}/{e}",
            [](http::request& q, http::response& r) { r.send(q.param("e")); });
  inner.get("/taken", [](http::exchange x) { x.response().send("taken"); });
  const auto inside = [inner](http::request& q, http::response& r) -> task<> {
    co_await inner(q, r);
  };
  http::router site;
  site.get("/{f}/{g}/{h}/i/{j}", inside).get("/p/{q}/r/s/t", inside).get("/taken", inside);
  served s(site);
  const auto all = s.ask(get("/1/2/3/i/5") + get("/p/2/r/s/t") + last_get("/taken"));
  REQUIRE(all.size() == 3);
  CHECK(all[0].status == 500);  // 4 parameters and 5
  CHECK(all[1].body == "t");
  CHECK(all[2].body == "taken");
}

CONFORMANCE("http: a parameter of more than a hundred bytes is whole, and so is the next one") {
  http::router site;
  site.get("/{id}", say_id);
  served s(site);
  const std::string large(5000, 'x');
  const auto all = s.ask(get("/" + large) + last_get("/a"));
  REQUIRE(all.size() == 2);
  CHECK(all[0].body == "id " + large + " none ");
  CHECK(all[1].body == "id a none ");
}

CONFORMANCE("http: a router answers 404, 405 with Allow, OPTIONS, HEAD and bad paths itself") {
  http::router site;
  site.get("/x", say_path).put("/x", say_path);
  served s(site);
  const auto all = s.ask(get("/y") + post("/x", "") + ask_for("OPTIONS", "/x") +
                         ask_for("OPTIONS", "*") + get("/a/../x") + get("/x%00") + last_get("/x"));
  REQUIRE(all.size() == 7);
  CHECK(all[0].status == 404);
  CHECK(all[0].body == "not found\n");
  CHECK(all[1].status == 405);
  CHECK(has(all[1].fields, "Allow: GET, HEAD, PUT, OPTIONS\r\n"));
  CHECK(all[2].status == 204);
  CHECK(has(all[2].fields, "Allow: GET, HEAD, PUT, OPTIONS\r\n"));
  CHECK(all[3].status == 204);
  CHECK(all[4].status == 400);
  CHECK(all[4].body == "a segment of the path is . or ..\n");
  CHECK(all[5].status == 400);
  CHECK(all[6].body == "/x");
  const auto heads = responses_in(s.talk(ask_for("HEAD", "/x") + "HEAD /y HTTP/1.0\r\n\r\n"), true);
  REQUIRE(heads.size() == 2);
  CHECK(heads[0].status == 200);
  CHECK(has(heads[0].fields, "Content-Length: 2\r\n"));
  CHECK(heads[1].status == 404);
}

CONFORMANCE("http: a route may take a larger or a smaller body than the server") {
  http::router site;
  site.post("/large", count_body, {.body_bytes = 3'000})
      .post("/small", count_body, {.body_bytes = 10})
      .post("/default", count_body);
  served s(site, {.bodies = {.body_bytes = 1'000}});
  const std::string body(2'000, 'b');
  const auto good = s.ask(post("/large", body) + post("/small", "0123456789") +
                          post("/default", body.substr(0, 1'000)) + last_get("/none"));
  REQUIRE(good.size() == 4);
  CHECK(good[0].body == "2000");
  CHECK(good[1].body == "10");
  CHECK(good[2].body == "1000");
  CHECK(s.ask(post("/small", "0123456789a"))[0].status == 413);
  CHECK(s.ask(post("/default", body))[0].status == 413);
  CHECK(s.ask(post("/none", body))[0].status == 413);
  CHECK(s.ask("POST /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
              "b\r\n0123456789a\r\n0\r\n\r\n")[0]
            .status == 413);
}

CONFORMANCE("http: a mounted router sees the path below its prefix") {
  http::router inner, site;
  inner.get("/", [](http::request&, http::response& r) { r.send("index"); })
      .get("/rows/{id}", say_id)
      .post("/rows", count_body);
  site.mount("/api", inner, {.body_bytes = 4}).get("/rows/{id}", say_path);
  inner.get("/late", say_path);  // a copy shares the routes
  served s(site);
  const auto all =
      s.ask(get("/api") + get("/api/") + get("/api/rows/7") + get("/rows/8") + get("/api/late") +
            get("/api/none") + ask_for("DELETE", "/api/rows") + last_get("/apis"));
  REQUIRE(all.size() == 8);
  CHECK(all[0].body == "index");
  CHECK(all[1].body == "index");
  CHECK(all[2].body == "id 7 none ");
  CHECK(all[3].body == "/rows/8");
  CHECK(all[4].body == "/late");
  CHECK(all[5].status == 404);
  CHECK(all[6].status == 405);
  CHECK(has(all[6].fields, "Allow: POST, OPTIONS\r\n"));
  CHECK(all[7].status == 404);
  CHECK(s.ask(post("/api/rows", "12345"))[0].status == 413);
}

CONFORMANCE("http: a mounted handler sees the rest of the path, and has the whole") {
  const auto show = [](http::request& q, http::response& r) {
    const std::string text = std::string(q.path()) + ' ' + std::string(q.target());
    r.send(text);
  };
  const auto show_later = [show](http::request& q, http::response& r) -> task<> {
    show(q, r);
    co_return;
  };
  http::router inner, middle, site;
  inner.mount("/deep", show).get("/x/{id}", show).mount("/", show_later);
  middle.mount("/m", inner);
  site.mount("/plain", show).mount("/later", show_later).mount("/r", middle).mount("/", show);
  served s(site);
  const struct {
    const char* target;
    const char* path;
  } cases[] = {
      {"/plain", ""},
      {"/plain/", "/"},
      {"/plain/a%20b?q=1", "/a%20b"},
      {"/later/a/b", "/a/b"},
      {"/%70lai%6e/%61", "/%61"},
      {"http://a/plain/x?y", "/x"},
      {"/r/m/x/7", "/x/7"},
      {"/%72/m/deep/1/2", "/1/2"},
      {"/r/m/deep", ""},
      {"/r/m/other/1", "/other/1"},
      {"/elsewhere", "/elsewhere"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.target);
    const auto all = s.ask(get(one.target) + last_get(one.target));
    REQUIRE(all.size() == 2);
    for (const seen_response& each : all)
      CHECK(each.body == std::string(one.path) + ' ' + one.target);
  }
}

CONFORMANCE("http: methods that are not known are 501, TRACE is 405, both in every place") {
  http::router site;
  site.get("/here", say_path).mount("/files", http::static_files("/"));
  served s(site);
  for (const char* path : {"/here", "/files/x"}) {
    CHECK(s.ask(ask_for("PROPFIND", path) + last_get("/here"))[0].status == 501);
    CHECK(s.ask(ask_for("get", path) + last_get("/here"))[0].status == 501);
    CHECK(s.ask(ask_for("DELETE", path) + last_get("/here"))[0].status == 405);
    CHECK(s.ask(ask_for("ABCDEFGHIJKLMNOPQRSTUVWXYZ", path) + last_get("/here"))[0].status == 501);
    const auto trace = s.ask(ask_for("TRACE", path) + last_get("/here"));
    CHECK(trace[0].status == 405);
    CHECK(has(trace[0].fields, "Allow: GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS\r\n"));
  }
}

CONFORMANCE("http: routers in each other end at a bound") {
  http::router sites[9];
  for (int i = 0; i < 8; ++i) sites[i].mount("/a", sites[i + 1]);
  for (http::router& one : sites) one.get("/", say_path);
  served s(sites[0]);
  std::string path;
  for (int i = 0; i < 7; ++i) path += "/a";
  const auto all = s.ask(get(path) + last_get(path + "/a"));
  REQUIRE(all.size() == 2);
  CHECK(all[0].status == 200);
  CHECK(all[1].status == 500);
}

TEST_CASE("http: a router destroys its handlers once, also those that it refuses") {
  const auto count = std::make_shared<int>(0);
  const auto handler = [count](http::request&, http::response&) {};
  {
    http::router site;
    site.get("/a", handler);
    CHECK_THROWS_AS(site.get("/a", handler), std::invalid_argument);
    CHECK_THROWS_AS(site.get("a", handler), std::invalid_argument);
    CHECK_THROWS_AS(site.mount("/{a}", handler), std::invalid_argument);
    CHECK(count.use_count() == 3);
    http::router copy = site;
    site = http::router();
    CHECK(count.use_count() == 3);
    copy = site;
    CHECK(count.use_count() == 2);
  }
  CHECK(count.use_count() == 2);
}
