// SPDX-License-Identifier: BSL-1.0
// Functions before the head of a response, values of an exchange, and requests that are refused
// inside middlewares.
#include <beck/http/middleware.hpp>
#include <beck/http/router.hpp>
#include <beck/http/slot.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "http/served.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
using beck::task;
namespace http = beck::http;

namespace {

constinit const http::slot<std::string> name_of_user;
constinit const http::slot<std::shared_ptr<int>> counted;

std::string post(std::string_view path, std::string_view body) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

std::string post_chunks(std::string_view path) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
         "chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n";
}

std::string value_of(const std::string& head, std::string_view name) {
  const std::size_t at = head.find(std::string(name) + ": ");
  if (at == head.npos) return "-";
  const std::size_t begin = at + name.size() + 2;
  return head.substr(begin, head.find('\r', begin) - begin);
}

/// Adds the status and the path of the request to the fields.
void mark(http::request& q, http::response& r) {
  const std::string text = std::to_string(http::number_of(r.status())) + ' ';
  r.set("X-Mark", text + std::string(q.target()) + ' ' + std::string(q.get("X-Ask")));
}

http::pending mark_all(http::request& q, http::response& r, http::next next) {
  r.before_head(mark);
  return next(q, r);
}

}  // namespace

CONFORMANCE("http: functions before the head see every response, the last one first") {
  std::string trace;
  http::router site;
  site.use([&trace](http::request& q, http::response& r, http::next next) {
    r.before_head([&trace](http::request&, http::response& head) {
      trace += 'a';
      head.set("X-Last", "outer");
    });
    r.before_head([&trace](http::request&, http::response& head) {
      trace += 'b';
      head.set("X-Last", "inner");
    });
    return next(q, r);
  });
  site.use(&mark_all);
  site.get("/sent", say_path)
      .get("/parts",
           [](http::request&, http::response& r) -> task<> {
             const beck::const_buffer part("part", 4);
             for (int i = 0; i < 2; ++i) beck::ignore(co_await r.async_write_some(part));
           })
      .get("/flushed",
           [](http::request&, http::response& r) -> task<> {
             beck::ignore(co_await r.async_flush());
           })
      .get("/status", [](http::request&, http::response& r) { r.status(204); })
      .get("/length", [](http::request&, http::response& r) { r.content_length(0); })
      .get("/throws", [](http::request&, http::response&) { throw std::runtime_error("no"); })
      .get("/silent", [](http::request&, http::response&) {});
  served s(site);
  const struct {
    const char* path;
    const char* status;
  } cases[] = {
      {"/sent", "200"},   {"/parts", "200"},  {"/flushed", "200"}, {"/status", "204"},
      {"/length", "200"}, {"/throws", "500"}, {"/silent", "500"},  {"/none", "404"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.path);
    trace.clear();
    const auto all = s.ask(get(one.path, "X-Ask: 1\r\n") + last_get(one.path));
    REQUIRE(all.size() == 2);
    CHECK(value_of(all[0].fields, "X-Mark") == std::string(one.status) + ' ' + one.path + " 1");
    CHECK(value_of(all[1].fields, "X-Mark") == std::string(one.status) + ' ' + one.path + ' ');
    for (const seen_response& each : all) {
      CHECK(std::to_string(each.status) == one.status);
      CHECK(value_of(each.fields, "X-Last") == "outer");
    }
    CHECK(trace == "baba");
  }
}

CONFORMANCE("http: a function before the head may change the status and the fields") {
  served s([](http::request& q, http::response& r) {
    r.before_head(
        [](http::request&, http::response& head) { head.status(202).set("X-A", "after"); });
    r.status(201).set("X-A", "before");
    if (q.path() == "/sent") r.send("body");
  });
  const auto all = s.ask(get("/sent") + last_get("/ended"));
  REQUIRE(all.size() == 2);
  for (const seen_response& one : all) {
    CHECK(one.status == 202);
    CHECK(value_of(one.fields, "X-A") == "after");
  }
  CHECK(all[0].body == "body");
}

CONFORMANCE("http: a function before the head has the request of a handler that has returned") {
  // The head of the request lies in the input, which goes back to the context when the handler has
  // returned: the function has to get a copy, since other bytes may overwrite it.
  const char* in_handler = nullptr;
  const char* in_hook = nullptr;
  served s([&](http::request& q, http::response& r) {
    in_handler = q.target().data();
    r.before_head([&in_hook](http::request& asked, http::response& head) {
      in_hook = asked.target().data();
      mark(asked, head);
    });
    if (q.path() == "/sent") r.send();
    if (q.path() == "/status") r.status(204);
    if (q.path() == "/throws") throw std::runtime_error("no");
  });
  const struct {
    const char* path;
    const char* status;
    bool is_copied;
  } cases[] = {{"/sent", "200", false},
               {"/status", "204", true},
               {"/throws", "500", true},
               {"/silent", "500", true}};
  for (const auto& one : cases) {
    CAPTURE(one.path);
    in_handler = in_hook = nullptr;
    const auto all = s.ask(get(one.path, "X-Ask: 1\r\nConnection: close\r\n"));
    REQUIRE(all.size() == 1);
    CHECK(value_of(all[0].fields, "X-Mark") == std::string(one.status) + ' ' + one.path + " 1");
    REQUIRE(in_hook != nullptr);
    CHECK((in_hook != in_handler) == one.is_copied);
  }
}

CONFORMANCE("http: if a function before the head throws, the response is 500 without the others") {
  std::vector<std::string> thrown;
  http::router site;
  site.use(&mark_all);
  site.use([](http::request& q, http::response& r, http::next next) {
    r.before_head([](http::request&, http::response&) { throw std::runtime_error("hook"); });
    return next(q, r);
  });
  site.get("/sent", say_path)
      .get("/status", [](http::request&, http::response& r) { r.status(204); })
      .get("/throws", [](http::request&, http::response&) { throw std::runtime_error("no"); })
      .get("/parts", [](http::request&, http::response& r) -> task<> {
        const beck::const_buffer part("part", 4);
        beck::ignore(co_await r.async_write_some(part));
      });
  served s(site);
  note_thrown(s.server, thrown);
  const auto all =
      s.ask(get("/sent") + get("/status") + get("/throws") + get("/parts") + last_get("/none"));
  REQUIRE(all.size() == 5);
  for (const seen_response& one : all) {
    CHECK(one.status == 500);
    CHECK(one.body == "the handler failed\n");
    CHECK(value_of(one.fields, "X-Mark") == "-");
  }
  CHECK(thrown == std::vector<std::string>{"hook", "hook", "no", "hook", "hook"});
  CHECK(s.server.stats().failed == 5);
}

CONFORMANCE("http: functions before the head are at most eight, and none comes too late") {
  std::vector<std::string> what;
  const auto attempt = [&what](http::response& r) {
    try {
      r.before_head(mark);
    } catch (const std::length_error&) {
      what.push_back("length");
    } catch (const std::logic_error& e) {
      what.push_back(e.what());
    }
  };
  served s([&](http::request& q, http::response& r) {
    if (q.path() == "/late") r.send();
    for (int i = 0; i < 9; ++i) attempt(r);
    if (q.path() != "/late") r.send();
  });
  const auto all = s.ask(get("/nine") + get("/late") + last_get("/nine"));
  REQUIRE(all.size() == 3);
  REQUIRE(what.size() == 11);
  CHECK(what[0] == "length");
  for (std::size_t i = 1; i < 10; ++i)
    CHECK(what[i] == "http: the head of the response was sent already");
  CHECK(what[10] == "length");
}

CONFORMANCE("http: a function before the head does not see the next request") {
  int called = 0;
  std::string kept;
  served s([&](http::request& q, http::response& r) {
    if (q.path() == "/hooked") {
      r.before_head([&called](http::request&, http::response&) { ++called; });
      name_of_user.put(q, "somebody");
      if (q.method() == http::method::head) throw std::runtime_error("no");
    }
    if (const std::string* const name = name_of_user.get(q)) kept += *name;
    r.send("x");
  });
  CHECK(s.ask(get("/hooked") + get("/other") + "bad head\r\n\r\n").size() == 3);
  CHECK(called == 1);
  CHECK(kept == "somebody");
  const auto all = s.ask(get("/other") + get("/other") + "bad head\r\n\r\n");
  REQUIRE(all.size() == 3);
  CHECK(all[2].status == 400);
  CHECK(called == 1);
}

CONFORMANCE("http: a tunnel's head has what functions before it have set") {
  http::router site;
  site.use(&mark_all).get("/", [](http::request&, http::response& r) -> task<> {
    auto taken = co_await r.set(http::field::upgrade, "echo").take_over();
    CHECK(!taken.error());
  });
  served s(site);
  const auto all = s.ask(get("/", "Connection: upgrade\r\nUpgrade: echo\r\nX-Ask: 1\r\n"));
  REQUIRE(all.size() == 1);
  CHECK(all[0].status == 101);
  CHECK(value_of(all[0].fields, "X-Mark") == "200 / 1");
}

CONFORMANCE("http: values of an exchange are replaced, and destroyed when it has ended") {
  const auto one = std::make_shared<int>(1), other = std::make_shared<int>(2);
  std::vector<long> uses;
  std::optional<http::exchange> kept;
  http::router site;
  site.use([&](http::request& q, http::response& r, http::next next) {
    CHECK(counted.get(q) == nullptr);
    counted.put(q, one);
    name_of_user.put(q, "a long name that is not inside of its string object");
    counted.put(q, other) = one;
    counted.put(q, other);
    uses.push_back(one.use_count());
    uses.push_back(other.use_count());
    return next(q, r);
  });
  site.get("/", [](http::request& q, http::response& r) -> task<> {
    r.send(*name_of_user.get(q) + std::to_string(**counted.get(q)));
    co_return;
  });
  site.get("/kept", [&kept](http::exchange x) { kept.emplace(std::move(x)); });
  served s(site);
  const long before = one.use_count();
  const auto all = s.ask(get("/") + last_get("/"));
  REQUIRE(all.size() == 2);
  CHECK(all[1].body == "a long name that is not inside of its string object2");
  CHECK(uses == std::vector<long>{before, before + 1, before, before + 1});
  CHECK(other.use_count() == before);
  peer& waits = s.start(last_get("/kept"));
  s.run_until([&] { return kept.has_value(); });
  CHECK(other.use_count() == before + 1);
  CHECK(**counted.get(kept->request()) == 2);
  kept->response().send();
  kept.reset();
  s.run_until([&] { return waits.done; });
  CHECK(other.use_count() == before);
}

CONFORMANCE("http: an announced body that is too long is refused inside the middlewares") {
  std::vector<unsigned> seen;
  std::vector<http::exchange_record> records;
  http::router site;
  site.use(&mark_all, [&seen](http::request& q, http::response& r, http::next next) -> task<> {
    CHECK(!q.route());
    r.set("X-Early", "kept");
    if (q.get("X-Ask") == "deny") {
      r.status(401).send("who?\n");
      co_return;
    }
    co_await next(q, r);
    seen.push_back(http::number_of(r.status()));
  });
  site.post("/small", count_body, {.body_bytes = 4}).post("/default", count_body);
  served s(site, {.bodies = {.body_bytes = 10}});
  s.server.on_finish([&](const http::exchange_record& one) {
    records.push_back(one);
    CHECK(one.request != nullptr);
  });
  for (const char* path : {"/small", "/default", "/none"}) {
    CAPTURE(path);
    const auto all = s.ask(post(path, "a body of 17 byte") + get("/"));
    REQUIRE(all.size() == 1);
    CHECK(all[0].status == 413);
    CHECK(value_of(all[0].fields, "Connection") == "close");
    CHECK(value_of(all[0].fields, "X-Early") == "kept");
    CHECK(value_of(all[0].fields, "X-Mark") == "413 " + std::string(path) + ' ');
    const bool by_route = std::string_view(path) == "/small";
    CHECK(all[0].body ==
          std::string("refused: the body is too long (limit: ") +
              (by_route ? "4 bytes, set by route_options" : "10 bytes, set by body_limits") +
              "::body_bytes)\n");
  }
  CHECK(seen == std::vector<unsigned>{413, 413, 413});
  CHECK(s.server.stats().count(http::refusal::body_too_long) == 3);
  REQUIRE(records.size() == 3);
  for (const http::exchange_record& one : records) {
    CHECK(one.why == http::refusal::body_too_long);
    CHECK(one.status == 413);
    CHECK(one.thrown == nullptr);
  }
  std::string denied = post("/small", "12345");
  denied.insert(denied.find("\r\n") + 2, "X-Ask: deny\r\n");
  const auto all = s.ask(denied + get("/"));
  REQUIRE(all.size() == 1);
  CHECK(all[0].status == 401);
  CHECK(value_of(all[0].fields, "Connection") == "close");  // the body will not be read
  CHECK(records.back().why == http::refusal::none);
}

CONFORMANCE("http: chunks that are too long in all are refused behind the middlewares") {
  std::vector<http::exchange_record> records;
  bool has_returned = false;
  http::router site;
  site.use(&mark_all, [&](http::request& q, http::response& r, http::next next) -> task<> {
    r.set("X-Early", "dropped");
    co_await next(q, r);
    has_returned = !r.has_begun();
  });
  site.post("/small", count_body, {.body_bytes = 4}).post("/default", count_body);
  served s(site, {.bodies = {.body_bytes = 5}});
  s.server.on_finish([&](const http::exchange_record& one) { records.push_back(one); });
  const auto all = s.ask(post_chunks("/small"));
  REQUIRE(all.size() == 1);
  CHECK(all[0].status == 413);
  CHECK(value_of(all[0].fields, "X-Mark") == "413 /small ");
  CHECK(value_of(all[0].fields, "X-Early") == "-");  // a half-made response is not sent
  CHECK(has(all[0].body, "4 bytes, set by route_options::body_bytes"));
  CHECK(has_returned);
  CHECK(has(s.ask(post_chunks("/default")).at(0).body, "5 bytes, set by body_limits::body_bytes"));
  REQUIRE(records.size() == 2);
  CHECK(records[0].why == http::refusal::body_too_long);
}

CONFORMANCE("http: without middlewares the text of 413 names the limit, too") {
  http::router site;
  site.post("/small", count_body, {.body_bytes = 4}).post("/default", count_body);
  http::router outer;
  outer.mount("/in",
              [site](http::request& q, http::response& r) -> task<> { co_await site(q, r); });
  outer.mount("/", site);
  served s(outer, {.bodies = {.body_bytes = 5}});
  for (const char* path : {"/small", "/in/small"})
    CHECK(has(s.ask(post(path, "12345")).at(0).body, "4 bytes, set by route_options::body_bytes"));
  for (const char* path : {"/default", "/in/default"})
    CHECK(has(s.ask(post(path, "123456")).at(0).body, "5 bytes, set by body_limits::body_bytes"));
}

CONFORMANCE("http: observers of exchanges add up") {
  std::string trace;
  served s(say_path);
  s.server.on_finish([&](const http::exchange_record&) { trace += 'a'; });
  s.server.on_finish([&](const http::exchange_record&) { trace += 'b'; });
  s.ask(get("/") + last_get("/"));
  CHECK(trace == "abab");
}
