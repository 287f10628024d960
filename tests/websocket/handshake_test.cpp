// SPDX-License-Identifier: BSL-1.0
// The handshake: requests that a server refuses, and what it answers; responses that a client
// refuses; subprotocols and origins.
#include <beck/http/error_page.hpp>
#include <beck/websocket/accept.hpp>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "http/client_site.hpp"
#include "support/conformance.hpp"
#include "websocket/handshake.hpp"
#include "websocket/pair.hpp"

using namespace beck::websocket;
using namespace beck::websocket::test;
using beck::error_code;
using beck::task;
namespace http = beck::http;

namespace {

/// The fields of a good request.
struct request_fields {
  std::string method = "GET";
  std::string version = "1.1";
  std::string connection = "Connection: keep-alive, Upgrade\r\n";
  std::string upgrade = "Upgrade: h2c, WebSocket\r\n";
  std::string number = "Sec-WebSocket-Version: 13\r\n";
  std::string key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  std::string more = {};

  std::string text() const {
    return method + " / HTTP/" + version + "\r\nHost: a.example:81\r\n" + connection + upgrade +
           number + key + more + "\r\n";
  }
};

/// A server that accepts, and then cuts the connection.
struct asked {
  explicit asked(const accept_options& how = accept_options())
      : s([this, how](http::request& q, http::response& r) -> task<> {
          r.set("X-Own", "1");
          auto accepted = co_await accept(q, r, how);
          ends.push_back(accepted.error());
          if (!accepted.error()) chosen = std::move(accepted).value().protocol();
        }) {}
  /// Returns the response to a request.
  std::string ask(const request_fields& f) {
    peer& one = s.start(f.text());
    s.run_until([&] {
      const bool switched = has(one.received, "HTTP/1.1 101 ");
      return one.done || has(one.received, switched ? "\r\n\r\n" : ".\n");
    });
    one.socket.close();
    s.run_until([&] { return s.server.stats().connections == 0; });
    return one.received;
  }
  std::vector<error_code> ends;
  std::string chosen;
  served s;
};

}  // namespace

CONFORMANCE("websocket: a good request is answered, with the fields of the handler") {
  asked a;
  const std::string response = a.ask({});
  CHECK(response.starts_with("HTTP/1.1 101 Switching Protocols\r\n"));
  CHECK(has(response, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
  CHECK(has(response, "Upgrade: websocket\r\n"));
  CHECK(has(response, "Connection: upgrade\r\n"));
  CHECK(has(response, "X-Own: 1\r\n"));
  CHECK(!has(response, "Sec-WebSocket-Protocol"));
  CHECK(!has(response, "Sec-WebSocket-Extensions"));
  CHECK(a.ends == std::vector<error_code>{error_code()});
  const std::string extended =
      a.ask({.more = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"});
  CHECK(extended.starts_with("HTTP/1.1 101 "));
  CHECK(!has(extended, "Sec-WebSocket-Extensions"));
  CHECK(a.ask({.more = "Content-Length: 0\r\n"}).starts_with("HTTP/1.1 101 "));  // no body
}

CONFORMANCE("websocket: a refused request has the program's error page") {
  asked a;
  a.s.server.on_error_page([](http::error_page& page) {
    page.body("text/test", "page: " + std::string(page.text()) + '\n');
  });
  const std::string response = a.ask({.upgrade = ""});
  CHECK(response.starts_with("HTTP/1.1 426 "));
  CHECK(has(response, "Upgrade: websocket\r\n"));
  CHECK(has(response, "Content-Type: text/test\r\n"));
  REQUIRE(!a.ends.empty());
  CHECK(has(response, "\r\n\r\npage: " + a.ends.back().message() + "."));
}

CONFORMANCE("websocket: every other request is refused with its status and its reason") {
  asked a;
  const struct {
    request_fields fields;
    const char* status;
    stream_error why;
  } cases[] = {
      {{.method = "POST", .more = "Content-Length: 0\r\n"}, "405", stream_error::no_upgrade},
      {{.version = "1.0"}, "400", stream_error::no_upgrade},
      {{.more = "Content-Length: 3\r\n"}, "400", stream_error::no_upgrade},
      {{.more = "Transfer-Encoding: chunked\r\n"}, "400", stream_error::no_upgrade},
      {{.connection = ""}, "426", stream_error::no_upgrade},
      {{.connection = "Connection: keep-alive\r\n"}, "426", stream_error::no_upgrade},
      {{.upgrade = ""}, "426", stream_error::no_upgrade},
      {{.upgrade = "Upgrade: websockets\r\n"}, "426", stream_error::no_upgrade},
      {{.number = ""}, "426", stream_error::bad_version},
      {{.number = "Sec-WebSocket-Version: 8\r\n"}, "426", stream_error::bad_version},
      {{.number = "Sec-WebSocket-Version: 13, 8\r\n"}, "426", stream_error::bad_version},
      {{.more = "Sec-WebSocket-Version: 13\r\n"}, "426", stream_error::bad_version},
      {{.key = ""}, "400", stream_error::bad_key},
      {{.key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ\r\n"}, "400", stream_error::bad_key},
      {{.key = "Sec-WebSocket-Key: c2hvcnQ=\r\n"}, "400", stream_error::bad_key},
      {{.more = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"}, "400", stream_error::bad_key},
      {{.more = "Origin: https://evil.example\r\n"}, "403", stream_error::bad_origin},
      {{.more = "Origin: null\r\n"}, "403", stream_error::bad_origin},
      {{.more = "Origin: http://a.example:81\r\nOrigin: http://a.example:81\r\n"},
       "403",
       stream_error::bad_origin},
  };
  for (const auto& one : cases) {
    CAPTURE(one.fields.text());
    const std::string response = a.ask(one.fields);
    CHECK(response.starts_with("HTTP/1.1 " + std::string(one.status) + " "));
    REQUIRE(!a.ends.empty());
    CHECK(a.ends.back() == one.why);
    CHECK(has(response, a.ends.back().message()));
    CHECK(has(response, "Sec-WebSocket-Version: 13\r\n") == (std::string(one.status) == "426"));
    CHECK(has(response, "Connection: upgrade\r\n") == (std::string(one.status) == "426"));
    CHECK(has(response, "Allow: GET\r\n") == (std::string(one.status) == "405"));
  }
  CHECK(a.s.server.stats().taken_over == 0);
}

CONFORMANCE("websocket: pages of the server and of named origins may connect") {
  asked own;
  CHECK(own.ask({.more = "Origin: http://A.example:81\r\n"}).starts_with("HTTP/1.1 101 "));
  CHECK(own.ask({.more = "Origin: http://a.example\r\n"}).starts_with("HTTP/1.1 403 "));
  asked named(accept_options{.origins = "https://app.example, http://b.example:8080"});
  CHECK(named.ask({.more = "Origin: https://app.example\r\n"}).starts_with("HTTP/1.1 101 "));
  CHECK(named.ask({.more = "Origin: http://b.example:8080\r\n"}).starts_with("HTTP/1.1 101 "));
  CHECK(named.ask({.more = "Origin: http://app.example\r\n"}).starts_with("HTTP/1.1 403 "));
  CHECK(named.ask({.more = "Origin: https://app.example.evil\r\n"}).starts_with("HTTP/1.1 403 "));
  asked all(accept_options{.origins = "*"});
  CHECK(all.ask({.more = "Origin: null\r\n"}).starts_with("HTTP/1.1 101 "));
}

TEST_CASE("websocket: a page is the server's own by host and port, and over TLS by https") {
  const struct {
    const char* host;
    const char* origin;
    bool secure, allowed;
  } cases[] = {
      {"a", "http://a", false, true},
      {"a", "http://a:80", false, true},
      {"a:80", "http://a", false, true},
      {"a:443", "http://a", false, false},
      {"a:80", "http://a:443", false, false},
      {"a:8080", "http://a", false, false},
      {"a", "https://a", false, true},  // a proxy may have ended TLS
      {"a", "https://a:443", false, true},
      {"a:443", "https://A", true, true},
      {"a", "https://a", true, true},
      {"a", "https://a:80", true, false},
      {"a", "http://a", true, false},
      {"a:80", "http://a:80", true, false},
      {"a", "ftp://a", false, false},
      {"a", "a", false, false},
      {"[::1]", "http://[::1]:80", false, true},
      {"[::1]:80", "http://[::1]", false, true},
      {"[::1]:81", "http://[::1]", false, false},
  };
  for (const auto& one : cases) {
    CAPTURE(one.host);
    CAPTURE(one.origin);
    CAPTURE(one.secure);
    const std::string text = "GET / HTTP/1.1\r\nHost: " + std::string(one.host) +
                             "\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
                             "Sec-WebSocket-Version: 13\r\n"
                             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: " +
                             std::string(one.origin) + "\r\n\r\n";
    beck::http::request_parser parser;
    beck::http::request_head head;
    REQUIRE(parser.parse(text, head) == beck::http::parse_status::done);
    const auto judged = beck::websocket::detail::check_request(head, accept_options(), one.secure);
    CHECK(!judged.error == one.allowed);
  }
}

CONFORMANCE("websocket: the server's best subprotocol that the client offers is chosen") {
  asked a(accept_options{.protocols = "v2, v1"});
  const auto offer = [&](std::string fields) {
    a.chosen.clear();
    return a.ask({.more = std::move(fields)});
  };
  CHECK(has(offer("Sec-WebSocket-Protocol: v1, v2\r\n"), "Sec-WebSocket-Protocol: v2\r\n"));
  CHECK(a.chosen == "v2");
  CHECK(has(offer("Sec-WebSocket-Protocol: v0\r\nSec-WebSocket-Protocol: v1\r\n"),
            "Sec-WebSocket-Protocol: v1\r\n"));
  CHECK(!has(offer("Sec-WebSocket-Protocol: V1, v10\r\n"), "Sec-WebSocket-Protocol"));
  CHECK(a.chosen.empty());
  CHECK(offer("").starts_with("HTTP/1.1 101 "));
}

CONFORMANCE("websocket: a client asks for what its options say, and learns what was chosen") {
  pair_site s;
  s.speaks = "chat.v2";
  const request_field authorization[] = {{"Authorization", "x"}};
  REQUIRE(!s.connect({.protocols = "chat.v1, chat.v2", .fields = authorization}));
  CHECK(s.client().protocol() == "chat.v2");
  CHECK(s.server().protocol() == "chat.v2");
  pair_site plain;
  REQUIRE(!plain.connect());
  CHECK(plain.client().protocol().empty());
  const request_field origin[] = {{"Origin", "http://evil.example"}};
  CHECK(plain.connect({.fields = origin}) == error_code(403, rejection_category()));
  CHECK(plain.refused == stream_error::bad_origin);
}

namespace {

/// Connects to a server that answers with a script.
error_code answered(const std::string& response, const connect_options& how = connect_options(),
                    std::string* request = nullptr) {
  http::test::client_site site({.redirects = 3});
  site.server.will(response, http::test::after::keep);
  site.server.will(http::test::ok("of a second request"));
  std::optional<error_code> done;
  stream made;
  co_spawn(site.ctx, connect(*site.web, "ws" + site.url("/chat?a=b").substr(4), how),
           [&](const std::exception_ptr& failed, beck::io_result<stream> result) {
             CHECK(!failed);
             made = std::move(result.value_);
             done = result.error();
           });
  site.run_until([&] { return done.has_value(); });
  if (request != nullptr && !site.server.requests.empty()) *request = site.server.requests[0].head;
  CHECK(bool(made) == !*done);
  made = stream();
  return *done;
}

std::string switching(std::string_view more) {
  return "HTTP/1.1 101 Switching Protocols\r\n" + std::string(more) + "\r\n";
}

}  // namespace

CONFORMANCE("websocket: a client verifies the answer to its request") {
  std::string request;
  const std::string up = "Upgrade: websocket\r\nConnection: upgrade\r\n";
  const request_field more[] = {{"X-More", "1"}};
  // The key is new each time, so no answer of a script can be right.
  CHECK(answered(switching(up + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"),
                 {.protocols = "a, b", .fields = more}, &request) == stream_error::bad_response);
  CHECK(request.starts_with("GET /chat?a=b HTTP/1.1\r\n"));
  CHECK(has(request, "Upgrade: websocket\r\n"));
  CHECK(has(request, "Connection: Upgrade\r\n"));
  CHECK(has(request, "Sec-WebSocket-Version: 13\r\n"));
  CHECK(has(request, "Sec-WebSocket-Protocol: a, b\r\n"));
  CHECK(has(request, "X-More: 1\r\n"));
  const std::size_t at = request.find("Sec-WebSocket-Key: ");
  REQUIRE(at != std::string::npos);
  CHECK(detail::is_key(request.substr(at + 19, 24)));
  const error_code forbidden = answered(http::test::ok("no"));
  CHECK(forbidden == error_code(200, rejection_category()));
  CHECK(forbidden.message() == "The server answered 200 OK instead of 101 Switching Protocols");
  CHECK(answered("HTTP/1.1 599 \r\nContent-Length: 0\r\n\r\n") ==
        error_code(599, rejection_category()));
  // No redirect is followed, though the client's options allow it.
  CHECK(answered("HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n") ==
        error_code(302, rejection_category()));
}

CONFORMANCE("websocket: each frame of a client has a key of its own") {
  constexpr std::size_t frames = 100;
  constexpr std::size_t frame_bytes = 6 + 4;  // head and key, and the data
  std::string received;
  served s([&](http::request& q, http::response& r) -> task<> {
    const std::string accepted = detail::accept_value(q.get(http::field::sec_websocket_key));
    r.set(http::field::upgrade, "websocket").set(http::field::sec_websocket_accept, accepted);
    auto taken = co_await r.take_over();
    while (received.size() < frames * frame_bytes) {
      auto got = co_await taken->stream().receive();
      if (got.error()) break;
      received.append(got->data(), got->size());
    }
  });
  http::client web(s.ctx);
  stream ws;
  const std::string url = "ws://127.0.0.1:" + std::to_string(s.server.endpoint().port()) + "/";
  co_spawn(
      s.ctx,
      [&]() -> task<> {
        auto made = co_await connect(web, url);
        ws = std::move(made).value();
        const std::string zeros(4, '\0');
        for (std::size_t i = 0; i < frames; ++i)
          beck::ignore(co_await ws.write(message_kind::binary, as_buffer(zeros)));
      },
      beck::detached);
  s.run_until([&] { return received.size() >= frames * frame_bytes; });
  std::set<std::string> keys;
  for (std::size_t i = 0; i < frames; ++i) {
    keys.insert(received.substr(i * frame_bytes + 2, 4));
    CHECK(received.substr(i * frame_bytes + 2, 4) == received.substr(i * frame_bytes + 6, 4));
  }
  CHECK(keys.size() >= frames - 1);  // two may be equal, once in a million runs
}

CONFORMANCE("websocket: a URL of another scheme is refused, and so are fields of the handshake") {
  pair_site s;
  const auto connected = [&](std::string_view url) { return s.run(connect(*s.web, url)).error(); };
  for (const char* url : {"http://a/", "wsx://a/", "", "ws", "//a/"})
    CHECK(connected(url) == stream_error::bad_url);
  CHECK(connected("ws://") == http::client_error::bad_url);
  CHECK(connected("wss://127.0.0.1/") == http::client_error::no_tls);
  for (const char* name : {"Upgrade", "Connection", "Content-Length", "bad name",
                           "Sec-WebSocket-Key", "sec-websocket-extensions"}) {
    CAPTURE(name);
    const request_field more[] = {{name, "x"}};
    CHECK_THROWS_AS(static_cast<void>(s.run(connect(*s.web, s.url(), {.fields = more}))),
                    std::invalid_argument);
  }
}

CONFORMANCE("websocket: a field that would be more than one is refused") {
  pair_site s;
  const request_field cookie[] = {{"Cookie", "a: b"}, {"X-More", "c"}};
  CHECK(!s.connect({.fields = cookie}));
  const request_field wrong[] = {{"Cookie", "a\nAuthorization: x"},
                                 {"Cookie", "a\n"},
                                 {"Cookie:a\nB", "c"},
                                 {"Cookie: a", "b"}};
  for (const request_field& one : wrong) {
    const request_field fields[] = {cookie[0], one};
    CHECK_THROWS_AS(static_cast<void>(connect(*s.web, s.url(), {.fields = fields})),
                    std::invalid_argument);
  }
}

CONFORMANCE("websocket: the texts of the options are copied by the call") {
  pair_site s;
  s.speaks = "chat.v2";
  std::string offered = "chat.v1, chat.v2";
  std::string value = "chosen by the program, and longer than a short string";
  auto pending = [&] {
    const request_field more[] = {{"X-More", value}};
    return connect(*s.web, s.url(), {.protocols = offered, .fields = more});
  }();
  std::fill(offered.begin(), offered.end(), '?');
  std::fill(value.begin(), value.end(), '\n');
  CHECK(!s.run(std::move(pending)).error());
  CHECK(s.seen.find("chosen by the program") != std::string::npos);
}

TEST_CASE("websocket: responses that do not answer are told apart") {
  const std::string accept_field = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";
  const std::string up = "Upgrade: WebSocket\r\nConnection: x, Upgrade\r\n";
  std::string_view protocol;
  std::string version = "HTTP/1.1";
  const auto is_good = [&](const std::string& fields, std::string_view offered = "a, b") {
    http::response_parser parser;
    http::response_head head;
    const std::string text = switching(fields).replace(0, version.size(), version);
    REQUIRE(parser.parse(text, http::method::get, head) == http::parse_status::done);
    return detail::check_response(head, "dGhlIHNhbXBsZSBub25jZQ==", offered, protocol);
  };
  CHECK(is_good(up + accept_field));
  CHECK(protocol.empty());
  CHECK(is_good(up + accept_field + "Sec-WebSocket-Protocol: b\r\n"));
  CHECK(protocol == "b");
  CHECK(!is_good(up + accept_field + "Sec-WebSocket-Protocol: B\r\n"));
  CHECK(!is_good(up + accept_field + "Sec-WebSocket-Protocol: a, b\r\n"));
  CHECK(!is_good(up + accept_field + "Sec-WebSocket-Protocol: a\r\n", ""));
  CHECK(!is_good(up + accept_field + "Sec-WebSocket-Protocol: \r\n"));
  CHECK(!is_good(up + accept_field + "Sec-WebSocket-Protocol: a\r\nSec-WebSocket-Protocol: b\r\n"));
  CHECK(!is_good(up + accept_field + "Sec-WebSocket-Extensions: permessage-deflate\r\n"));
  CHECK(!is_good(up + accept_field + accept_field));
  CHECK(!is_good(up));
  CHECK(!is_good(up + "Sec-WebSocket-Accept: S3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
  CHECK(!is_good("Upgrade: websocket\r\n" + accept_field));
  CHECK(!is_good("Upgrade: websocket\r\n" + up + accept_field));
  CHECK(!is_good("Connection: upgrade\r\n" + accept_field));
  CHECK(!is_good("Upgrade: h2c\r\nConnection: upgrade\r\n" + accept_field));
  version = "HTTP/1.0";
  CHECK(!is_good(up + accept_field));
}
