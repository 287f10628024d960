// SPDX-License-Identifier: BSL-1.0
// Records of exchanges, and the texts of refusals, which name the limit.
#include <beck/http/server.hpp>

#include <beck/io/generic_stream.hpp>

#include <stdexcept>
#include <string>
#include <vector>

#include "http/served.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
namespace http = beck::http;
namespace ip = beck::ip;

namespace {

/// A copy of a record.
struct kept_record {
  std::string request;  ///< "-" if it is not known
  http::exchange_record record;
};

task<> answer(http::request& q, http::response& r) {
  const std::string_view path = q.path();
  if (path == "/throws") throw std::runtime_error("no");
  if (path == "/cut") r.content_length(10);
  if (path == "/count" || path == "/late") co_return co_await count_body(q, r);
  const beck::const_buffer part("parts", 5);
  beck::ignore(co_await beck::async_write(r, part));
}

void note(std::vector<kept_record>& all, const http::exchange_record& one) {
  std::string text("-");
  if (one.request != nullptr) {
    text = std::string(one.request->method_text()) + ' ' + std::string(one.request->target());
    text += ' ' + std::string(one.request->get(http::field::host));
  }
  all.push_back({text, one});
  all.back().record.request = nullptr;
}

}  // namespace

CONFORMANCE("http: each exchange and each refusal has one record") {
  std::vector<kept_record> all;
  served s(answer);
  s.server.on_finish([&](const http::exchange_record& one) { note(all, one); });
  s.ask("POST /count?x=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody" + get("/parts") +
        get("/throws") + get("/cut"));
  s.ask("bad request\r\n\r\n");
  s.ask("POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\n");
  REQUIRE(all.size() == 6);
  CHECK(all[0].request == "POST /count?x=1 a");
  CHECK(all[0].record.status == 200);
  for (const kept_record& one : all) CHECK(!one.record.client.is_unspecified());
  CHECK(all[0].record.request_bytes == 4);
  CHECK(all[0].record.reply_bytes == 1);
  CHECK(all[0].record.time.nanoseconds() >= 0);
  CHECK(all[1].request == "GET /parts a");
  CHECK(all[1].record.reply_bytes == 5);
  CHECK(!all[1].record.cut);
  CHECK(all[2].record.status == 500);
  CHECK(all[3].request == "GET /cut a");
  CHECK(all[3].record.status == 200);
  CHECK(all[3].record.cut);
  CHECK(all[4].request == "-");
  CHECK(all[4].record.why == http::refusal::bad_request_line);
  CHECK(all[4].record.status == 400);
  CHECK(all[5].request == "POST /count a");
  CHECK(all[5].record.why == http::refusal::body_too_long);
  CHECK(all[5].record.status == 413);
  for (std::size_t i = 0; i < 4; ++i) CHECK(all[i].record.why == http::refusal::none);
}

CONFORMANCE("http: a record has the peer, and the client that a proxy names") {
  std::vector<kept_record> all;
  ip::tcp::endpoint peer;
  served s([&](http::request& q, http::response& r) {
    peer = q.peer();
    r.send("ok");
  });
  s.server.behind_proxy("0.0.0.0/0");
  s.server.on_finish([&](const http::exchange_record& one) { note(all, one); });
  s.ask(get("/", "Connection: close\r\nX-Forwarded-For: 192.0.2.7\r\n"));
  s.ask("GET / HTTP/1.1\r\nX-Forwarded-For: 192.0.2.7\r\n\r\n");  // without Host
  REQUIRE(all.size() == 2);
  CHECK(all[0].record.peer.port() != 0);
  CHECK(all[0].record.peer == peer);
  CHECK(all[0].record.client == ip::make_address("192.0.2.7"));
  CHECK(all[1].record.why == http::refusal::host_missing);
  CHECK(all[1].record.peer.port() != 0);
  CHECK(all[1].record.client == all[1].record.peer.address());
}

CONFORMANCE("http: functions and callbacks have records with their heads, too") {
  std::vector<kept_record> all;
  {
    served s(say_path);
    s.server.on_finish([&](const http::exchange_record& one) { note(all, one); });
    s.ask(get("/a") + last_get("/b"));
  }
  {
    served s([](http::exchange x) { x.response().send("c"); });
    s.server.on_finish([](const http::exchange_record&) {});
    s.server.on_finish([&](const http::exchange_record& one) { note(all, one); });
    s.ask(last_get("/c"));
  }
  REQUIRE(all.size() == 3);
  CHECK(all[0].request == "GET /a a");
  CHECK(all[1].request == "GET /b a");
  CHECK(all[2].request == "GET /c a");
}

CONFORMANCE("http: a record says that the peer has gone before the reply was whole") {
  std::vector<kept_record> all;
  served s([](http::request&, http::response& r) -> task<> {
    const std::string many(100'000, 'x');
    for (;;) {
      auto sent = co_await beck::async_write(r, beck::buffer(many));
      if (sent.error()) co_return;
    }
  });
  s.server.on_finish([&](const http::exchange_record& one) { note(all, one); });
  peer& one = s.start(get("/"));
  s.run_until([&] { return one.received.size() > 1'000'000; });
  error_code ec;
  one.socket.set_option(beck::socket_base::linger(true, 0), ec);
  one.socket.close();
  s.run_until([&] { return !all.empty(); });
  CHECK(all[0].record.cut);
  CHECK(all[0].record.status == 200);
  CHECK((where == beck::test::on_sim || all[0].record.client.is_loopback()));
  CHECK(!all[0].record.client.is_unspecified());
  CHECK(all[0].record.reply_bytes >= 1'000'000);
}

CONFORMANCE("http: the text of a refusal names the limit, its value and its setter") {
  http::head_limits heads;
  heads.target_bytes = 20;
  heads.fields = 3;
  served s(say_path, http::limits().heads(heads).body_bytes(5));
  const auto text = [&](const std::string& request) { return s.ask(request).at(0).body; };
  CHECK(text(get("/a-target-of-more-than-twenty-bytes")) ==
        "refused: the target is too long (limit: 20 bytes, set by head_limits::target_bytes)\n");
  CHECK(has(text(get("/", "A: 1\r\nB: 2\r\nC: 3\r\n")),
            "(limit: 3 fields, set by head_limits::fields)"));
  CHECK(has(text("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n"),
            "(limit: 5 bytes, set by limits::body_bytes)"));
  CHECK(!has(text("bad\r\n\r\n"), "limit"));
}

CONFORMANCE("http: a record of HEAD counts no bytes of a body, however the reply was made") {
  std::vector<kept_record> all;
  served s(answer);
  s.server.on_finish([&](const http::exchange_record& one) { note(all, one); });
  s.talk("HEAD /parts HTTP/1.1\r\nHost: a\r\n\r\n" + last_get("/parts"));
  REQUIRE(all.size() == 2);
  CHECK(all[0].record.reply_bytes == 0);
  CHECK(!all[0].record.cut);
  CHECK(all[1].record.reply_bytes == 5);
}
