// SPDX-License-Identifier: BSL-1.0
// Error pages: one function of the program makes the body of everything that the server, routers
// and files answer with an error, and sees every exception.
#include <beck/http/error_page.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <beck/http/slot.hpp>
#include <beck/http/static_files.hpp>

#include <beck/coro/event.hpp>
#include <beck/io/steady_timer.hpp>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "http/both_streams.hpp"
#include "http/served.hpp"
#include "http/shown_page.hpp"

using namespace beck::http::test;
using beck::task;
namespace http = beck::http;

namespace {

constinit const http::slot<std::string> asking;

/// Counts pages, and remembers the last one.
struct seen_pages {
  auto function() {
    return [this](http::error_page& page) {
      ++(page.has_begun() ? late : sent);
      thrown = what_of(page.thrown());
      target = page.request() != nullptr ? std::string(page.request()->target()) : "?";
      page.status(418).set("X-Page", "yes").body("text/test", "page");
    };
  }

  int sent = 0, late = 0;
  std::string thrown, target;
};

/// Calls `act(q, r)` in handlers of each kind, behind a middleware or not: "plain", "task",
/// "exchange", "layered".
template <class Act>
http::router handlers_of_all_kinds(Act act) {
  http::router layered, site;
  const auto coroutine = [act](http::request& q, http::response& r) -> task<> {
    beck::steady_timer timer(q.get_executor(), beck::duration(1'000));
    beck::ignore(co_await timer.async_wait());
    act(q, r);
  };
  const auto pass = [](http::request& q, http::response& r, http::next next) { return next(q, r); };
  layered.use(pass).get("/", act);
  site.get("/plain", act).get("/task", coroutine).mount("/layered", layered);
  site.get("/exchange", [act](http::exchange x) { act(x.request(), x.response()); });
  return site;
}
constexpr const char* kinds[] = {"/plain", "/task", "/exchange", "/layered"};

}  // namespace

namespace {

/// A request, and what its page says.
struct failing_request {
  std::string request;
  unsigned status;
  const char* body;
};

std::vector<failing_request> failing_requests() {
  return {
      {get("/none"), 404, "404|none|-|not found|/none"},
      {ask_for("PUT", "/x"), 405, "405|none|-|the method is not allowed here|/x"},
      {ask_for("NONE", "/x"), 501, "501|none|-|the method is not known here|/x"},
      {get("/a%00"), 400, "400|none|-|a control character in the path|/a%00"},
      {get("/throws"), 500, "500|none|no|the handler failed|/throws"},
      {get("/silent"), 500,
       "500|none|the handler did not respond|the handler did not respond|/silent"},
      {get("/files/x"), 404, "404|none|-|not found|/files/x"},
      {get("/files/.x"), 404, "404|none|-|not found|/files/.x"},
      {ask_for("PUT", "/files/x"), 405, "405|none|-|files are only read|/files/x"},
      {ask_for("POST", "/count", "Content-Length: 5\r\n"), 413,
       "413|body_too_long|-|refused: the body is too long (limit: 4 bytes, set by "
       "route_options::body_bytes)|/count"},
      {ask_for("POST", "/count", "Transfer-Encoding: chunked\r\n") + "5\r\nhello\r\n0\r\n\r\n", 413,
       "413|body_too_long|-|refused: the body is too long (limit: 4 bytes, set by "
       "route_options::body_bytes)|/count"},
      {ask_for("POST", "/layered", "Content-Length: 5\r\n"), 413,
       "413|body_too_long|-|refused: the body is too long (limit: 4 bytes, set by "
       "route_options::body_bytes)|/layered"},
      {get("/own405"), 405, "405|none|mine|mine|/own405"},
      {ask_for("POST", "/count", "Transfer-Encoding: chunked\r\n") + "x\r\n", 400,
       "400|bad_chunk_size|-|refused: a chunk size is not 1 to 16 hexadecimal digits|/count"},
      {"bad\r\n\r\n", 400,
       "400|bad_request_line|-|refused: the request line is not a method, a target and a "
       "version|?"},
      {get('/' + std::string(100, 'x')), 414,
       "414|target_too_long|-|refused: the target is too long (limit: 100 bytes, set by "
       "head_limits::target_bytes)|?"},
      {get("/x", "A: 1\r\nB: 1\r\nC: 1\r\nD: 1\r\nE: 1\r\nF: 1\r\nG: 1\r\nH: 1\r\nI: 1\r\n"), 431,
       "431|too_many_fields|-|refused: too many fields (limit: 8 fields, set by "
       "head_limits::fields)|?"},
      {get("/x", "Expect: more\r\n"), 417,
       "417|bad_expectation|-|refused: an expectation but 100-continue|?"},
      {ask_for("TRACE", "/x"), 405, "405|trace_refused|-|refused: TRACE is not answered|?"},
      {ask_for("POST", "/x", "Transfer-Encoding: gzip, chunked\r\n"), 501,
       "501|unknown_transfer_coding|-|refused: an unknown transfer coding|?"},
      {"GET /x HTTP/2.0\r\nHost: a\r\n\r\n", 505,
       "505|bad_version|-|refused: the version is neither HTTP/1.1 nor HTTP/1.0|?"},
  };
}

}  // namespace

CONFORMANCE_OVER_BOTH("http: one function makes the bodies of all errors that a server answers") {
  http::router inner, site;
  inner.use([](http::request& q, http::response& r, http::next next) { return next(q, r); });
  inner.post("/", count_body, {.body_bytes = 4});
  site.get("/x", say_path)
      .mount("/layered", inner)
      .post("/count", count_body, {.body_bytes = 4})
      .get("/own405", [](http::request&, http::response&) { throw http::failure(405, "mine"); })
      .get("/throws", [](http::request&, http::response&) { throw std::runtime_error("no"); })
      .get("/silent", [](http::request&, http::response&) {})
      .mount("/files", http::static_files("/nowhere"));
  http::head_limits heads;
  heads.target_bytes = 100;
  heads.fields = 8;
  served s(site, {.heads = heads});
  s.server.on_error_page(&say_all);
  for (const failing_request& one : failing_requests()) {
    CAPTURE(one.request);
    const auto all = s.ask(get("/x") + one.request + last_get("/x"));
    REQUIRE(all.size() >= 2);
    CHECK(all[0].body == "/x");
    CHECK(value_of(all[0].fields, "X-Page") == "-");
    CHECK(all[1].status == one.status);
    CHECK(all[1].body == one.body);
    CHECK(value_of(all[1].fields, "Content-Type") == "text/test");
    CHECK(value_of(all[1].fields, "X-Page") == "yes");
    const bool has_allow = one.status == 405 && !has(one.request, "own");
    CHECK((value_of(all[1].fields, "Allow") != "-") == has_allow);
    if (all.size() == 3) CHECK(all[2].body == "/x");
  }
}

CONFORMANCE("http: an upload that was cut short, and a stop, have error pages, too") {
  beck::manual_reset_event news;
  int waiting = 0;
  http::router site;
  site.post("/count", count_body);
  site.get("/wait",
           [&](http::request&, http::response&) -> task<> {
             ++waiting;
             beck::ignore(co_await news.wait());
           },
           {.waits_for_events = true});
  served s(site);
  s.server.on_error_page(&say_all);
  peer& cut = s.start(ask_for("POST", "/count", "Content-Length: 9\r\n") + "half");
  peer& waits = s.start(get("/wait"));
  s.run_until([&] { return cut.sent && waiting == 1; });
  beck::error_code ec;
  cut.socket.shutdown(beck::ip::tcp::socket::shutdown_send, ec);
  s.run_until([&] { return cut.done; });
  CHECK(s.server.stats().failed == 0);
  REQUIRE(cut.responses().size() == 1);
  CHECK(cut.responses()[0].body == "400|none|-|the body of the request was cut short|/count");
  s.stop();
  s.run_until([&] { return waits.done; });
  REQUIRE(waits.responses().size() == 1);
  CHECK(waits.responses()[0].status == 503);
  CHECK(waits.responses()[0].body == "503|none|-|the server is being stopped|/wait");
}

CONFORMANCE("http: a failure is a response with its status, in handlers of each kind") {
  for (const bool has_page : {false, true}) {
    CAPTURE(has_page);
    std::vector<std::string> lines;
    std::vector<http::exchange_record> records;
    served s(handlers_of_all_kinds([](http::request&, http::response& r) {
      r.set("X-Dropped", "yes").status(201);
      throw http::failure(404, "no such book");
    }));
    keep_lines(s, lines);
    s.server.on_finish([&](const http::exchange_record& one) { records.push_back(one); });
    if (has_page) s.server.on_error_page(&say_all);
    for (const char* kind : kinds) {
      CAPTURE(kind);
      const auto all = s.ask(get(kind) + last_get(kind));
      REQUIRE(all.size() == 2);
      for (const seen_response& one : all) {
        CHECK(one.status == 404);
        CHECK(value_of(one.fields, "X-Dropped") == "-");
        CHECK(one.body == (has_page ? "404|none|no such book|no such book|" + std::string(kind)
                                    : "no such book\n"));
        CHECK(value_of(one.fields, "Content-Type") ==
              (has_page ? "text/test" : "text/plain; charset=utf-8"));
      }
    }
    CHECK(lines.empty());
    CHECK(s.server.stats().failed == 0);
    CHECK(s.server.stats().exchanges == 8);
    REQUIRE(records.size() == 8);
    for (const http::exchange_record& one : records) {
      CHECK(one.status == 404);
      CHECK(what_of(one.thrown) == "no such book");
    }
  }
}

CONFORMANCE("http: an exception of a handler of each kind has a page, and no text for the client") {
  seen_pages pages;
  std::vector<std::string> lines;
  served s(handlers_of_all_kinds([](http::request& q, http::response&) {
    throw std::runtime_error("secret " + std::string(q.target()));
  }));
  keep_lines(s, lines);
  for (const char* kind : kinds) {
    const auto all = s.ask(last_get(kind));
    REQUIRE(all.size() == 1);
    CHECK(all[0].body == "the handler failed\n");
  }
  s.server.on_error_page(pages.function());
  for (const char* kind : kinds) {
    CAPTURE(kind);
    const auto all = s.ask(get(kind) + last_get("/none"));
    REQUIRE(all.size() == 2);
    CHECK(all[0].status == 418);
    CHECK(all[0].body == "page");
    CHECK(all[1].status == 418);
    CHECK(pages.thrown == "-");
    CHECK(pages.target == "/none");
  }
  CHECK(pages.sent == 8);
  CHECK(pages.late == 0);
  CHECK(s.server.stats().failed == 8);
  REQUIRE(lines.size() == 8);
  CHECK(lines[7] == "http: GET /layered: secret /layered");
}

CONFORMANCE("http: an exception behind the head is shown, and the connection is cut") {
  seen_pages pages;
  std::vector<std::string> lines;
  served s(handlers_of_all_kinds([](http::request&, http::response& r) {
    r.send("sent");
    throw http::failure(404, "too late");
  }));
  keep_lines(s, lines);
  s.server.on_error_page(pages.function());
  for (const char* kind : kinds) {
    CAPTURE(kind);
    pages = seen_pages();
    const auto all = s.ask(get(kind) + get(kind));
    REQUIRE(all.size() == 1);
    CHECK(all[0].status == 200);
    CHECK(all[0].body == "sent");
    CHECK(value_of(all[0].fields, "X-Page") == "-");
    CHECK(pages.late == 1);
    CHECK(pages.sent == 0);
    CHECK(pages.thrown == "too late");
    CHECK(pages.target == kind);
  }
  CHECK(s.server.stats().failed == 4);
  CHECK(s.server.stats().cut == 4);
  CHECK(lines.size() == 4);
}

CONFORMANCE("http: an exception is not shown if the client, or a stop, is its cause") {
  seen_pages pages;
  int started = 0;
  served s([&](http::request& q, http::response&) -> task<> {
    ++started;
    beck::steady_timer timer(q.get_executor(), beck::duration(3'600'000'000'000));
    auto waited = co_await timer.async_wait();
    if (waited.error()) throw std::runtime_error("interrupted");
  });
  s.server.on_error_page(pages.function());
  peer& resets = s.start(get("/"));
  s.run_until([&] { return started == 1; });
  beck::error_code ec;
  resets.socket.set_option(beck::socket_base::linger(true, 0), ec);
  resets.socket.close();
  s.run_until([&] { return s.server.stats().connections == 0; });
  CHECK(pages.sent + pages.late == 0);
  // A connection that is cut after the grace is no client that has gone.
  peer& waits = s.start(get("/"));
  s.run_until([&] { return started == 2; });
  s.stop(beck::duration::zero());
  s.run_until([&] { return waits.done; });
  CHECK(pages.sent == 0);
  CHECK(pages.late == 1);
}

CONFORMANCE("http: a function for error pages that throws leaves the library's text") {
  std::vector<std::string> lines;
  http::router site;
  site.get("/late", [](http::request&, http::response& r) {
    r.send("sent");
    throw std::runtime_error("behind");
  });
  site.get("/fail", [](http::request&, http::response& r) { r.set("X-Kept", "1").fail(409, "a"); });
  served s(site);
  keep_lines(s, lines);
  s.server.on_error_page([](http::error_page& page) {
    page.status(500).set("X-Page", "yes").body("text/test", "half");
    throw std::runtime_error("no page");
  });
  for (const char* path : {"/none", "/fail"}) {
    CAPTURE(path);
    const auto all = s.ask(last_get(path));
    REQUIRE(all.size() == 1);
    CHECK(all[0].status == (path[1] == 'n' ? 404 : 409));
    CHECK(all[0].body == (path[1] == 'n' ? "not found\n" : "a\n"));
    CHECK(value_of(all[0].fields, "X-Page") == "-");
    CHECK(value_of(all[0].fields, "X-Kept") == (path[1] == 'n' ? "-" : "1"));
    CHECK(value_of(all[0].fields, "Content-Type") == "text/plain; charset=utf-8");
  }
  CHECK(s.ask("bad\r\n\r\n").at(0).status == 400);
  CHECK(s.ask(last_get("/late")).at(0).body == "sent");
  REQUIRE(lines.size() == 5);
  CHECK(lines[0] == "http: GET /none: no page");
  CHECK(lines[1] == "http: GET /fail: no page");
  CHECK(lines[2] == "http: : no page");
  CHECK(lines[3] == "http: GET /late: behind");
  CHECK(lines[4] == "http: GET /late: no page");
}

CONFORMANCE("http: fail() sends a page with the fields that are set") {
  int refused = 0;
  http::router site;
  site.get("/401", [](http::request&, http::response& r) {
    r.set("WWW-Authenticate", "Bearer").set("Content-Type", "a/b").content_length(99).fail(401);
  });
  site.get("/text", [](http::request&, http::response& r) { r.fail(http::status::gone, "it is"); });
  site.get("/499", [](http::request&, http::response& r) { r.fail(499); });
  site.get("/bad", [&](http::request&, http::response& r) {
    for (const unsigned bad : {0U, 200U, 399U, 600U, 65'536U + 404U}) {
      try {
        r.fail(bad);
      } catch (const std::invalid_argument& e) {
        refused += has(e.what(), std::to_string(bad)) ? 1 : 0;
      }
      CHECK_THROWS_AS(http::failure{bad}, std::invalid_argument);
    }
    r.send();
    CHECK_THROWS_AS(r.fail(404), std::logic_error);
    CHECK(r.status() == http::status::ok);
  });
  served s(site);
  for (const bool has_page : {false, true}) {
    const auto all = s.ask(get("/401") + get("/text") + last_get("/499"));
    REQUIRE(all.size() == 3);
    CHECK(all[0].status == 401);
    CHECK(value_of(all[0].fields, "WWW-Authenticate") == "Bearer");
    CHECK(value_of(all[0].fields, "Content-Type") ==
          (has_page ? "text/test" : "text/plain; charset=utf-8"));
    CHECK(all[0].body == (has_page ? "401|none|-|Unauthorized|/401" : "Unauthorized\n"));
    CHECK(all[1].status == 410);
    CHECK(all[1].body == (has_page ? "410|none|-|it is|/text" : "it is\n"));
    CHECK(all[2].body == (has_page ? "499|none|-|status 499|/499" : "status 499\n"));
    s.server.on_error_page(&say_all);
  }
  CHECK(s.ask(last_get("/bad")).at(0).status == 200);
  CHECK(refused == 5);
  CHECK(s.server.stats().failed == 0);
  const std::string head = s.talk(ask_for("HEAD", "/text", "Connection: close\r\n"));
  CHECK(value_of(head, "Content-Length") ==
        std::to_string(std::string("410|none|-|it is|/text").size()));
  CHECK(head.substr(head.size() - 4) == "\r\n\r\n");
}

CONFORMANCE(
    "http: a handler that has asked for the end of its connection gets that with an error") {
  served s([](http::request& q, http::response& r) {
    r.close();
    if (q.path() == "/fails") r.fail(404);
    throw http::failure(404);
  });
  for (const char* path : {"/throws", "/fails"}) {
    const auto all = s.ask(get(path) + get(path));
    REQUIRE(all.size() == 1);
    CHECK(value_of(all[0].fields, "Connection") == "close");
  }
}

CONFORMANCE("http: a page knows the request, its route and its values, and may change the status") {
  http::router site;
  site.use([](http::request& q, http::response& r, http::next next) {
    asking.put(q, std::string(q.get("X-User")));
    r.before_head([](http::request&, http::response& head) {
      head.set("X-Seen", std::to_string(http::number_of(head.status())) + ' ' + "hook");
    });
    return next(q, r);
  });
  site.get("/orders/{id}",
           [](http::request&, http::response&) { throw std::out_of_range("stock"); });
  served s(site);
  s.server.on_error_page([](http::error_page& page) {
    CHECK_THROWS_AS(page.status(399), std::invalid_argument);
    CHECK_THROWS_AS(page.status(600), std::invalid_argument);
    CHECK_THROWS_AS(page.set("Content-Length", "1"), std::invalid_argument);
    CHECK_THROWS_AS(page.set("A", "b\r\n"), std::invalid_argument);
    CHECK_THROWS_AS(page.body("a\n", ""), std::invalid_argument);
    std::string text("?");
    if (const http::request* const q = page.request()) {
      const std::string* const user = asking.get(*q);
      text = std::string(q->route().pattern()) + ' ' + (user != nullptr ? *user : "nobody");
    }
    if (page.thrown()) page.status(http::status::conflict);
    page.set(http::field::retry_after, "7").body("a/b", text);
  });
  const auto all =
      s.ask(get("/orders/1", "X-User: ann\r\n") + get("/none", "X-User: ben\r\n") + "bad\r\n\r\n");
  REQUIRE(all.size() == 3);
  CHECK(all[0].status == 409);
  CHECK(all[0].body == "/orders/{id} ann");
  CHECK(value_of(all[0].fields, "X-Seen") == "409 hook");
  CHECK(value_of(all[0].fields, "Retry-After") == "7");
  CHECK(all[1].status == 404);
  CHECK(all[1].body == " ben");
  CHECK(value_of(all[1].fields, "X-Seen") == "404 hook");
  CHECK(all[2].body == "?");
  CHECK(value_of(all[2].fields, "X-Seen") == "-");
}

CONFORMANCE("http: a function before the head that throws leads to a page, without the others") {
  for (const char* path : {"/none", "/sent", "/status", "/failure"}) {
    CAPTURE(path);
    http::router site;
    site.use([](http::request& q, http::response& r, http::next next) {
      r.before_head([](http::request&, http::response& head) { head.set("X-Hook", "outer"); });
      r.before_head([](http::request& asked, http::response&) {
        if (asked.path() == "/failure") throw http::failure(410, "hook");
        throw std::runtime_error("hook");
      });
      return next(q, r);
    });
    site.get("/sent", say_path);
    site.get("/status", [](http::request&, http::response& r) { r.status(204); });
    site.get("/failure",
             [](http::request&, http::response&) { throw std::runtime_error("first"); });
    served s(site);
    s.server.on_error_page(&say_all);
    const auto all = s.ask(last_get(path));
    REQUIRE(all.size() == 1);
    const bool is_failure = path[1] == 'f';
    CHECK(all[0].status == (is_failure ? 410 : 500));
    CHECK(all[0].body ==
          (is_failure ? "410|none|hook|hook|" : "500|none|hook|the handler failed|") +
              std::string(path));
    CHECK(value_of(all[0].fields, "X-Hook") == "-");
  }
}

CONFORMANCE("http: the last function for error pages is the only one, and the server owns it") {
  const auto owned = std::make_shared<int>(0);
  {
    served s(say_path);
    s.server.on_error_page([owned](http::error_page& page) { page.body("a/b", "first"); });
    s.server.on_error_page([owned](http::error_page& page) { page.body("a/b", "second"); });
    CHECK(owned.use_count() == 2);
    CHECK(s.ask("bad\r\n\r\n").at(0).body == "second");
  }
  CHECK(owned.use_count() == 1);
}
