// SPDX-License-Identifier: BSL-1.0
// Responses that come before their request has ended: refused ones, those that end the connection,
// and 101.
#include <beck/http/client.hpp>

#include <beck/http/client_error.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/connect_stream.hpp>

#include <string>

#include "http/client_site.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
namespace http = beck::http;
namespace ip = beck::ip;

namespace {

/// Writes a body in small parts until the server wants no more, or it is whole.
task<error_code> upload(http::call& to, int parts) {
  const std::string part(1000, 'p');
  error_code ec;
  for (int i = 0; i < parts && !ec; ++i) {
    auto wrote = co_await to.async_write_some(beck::buffer(part));
    ec = wrote.error();
    beck::steady_timer pause(to.get_executor(), beck::duration(100'000));
    beck::ignore(co_await pause.async_wait());
  }
  co_return ec;
}

}  // namespace

CONFORMANCE("http client: a response that is refused during an upload fails the call") {
  const std::string early = "HTTP/1.1 103 Early Hints\r\n\r\n";
  const struct {
    std::string answer;
    error_code expected;
  } cases[] = {
      {"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
       make_error_code(http::client_error::unexpected_upgrade)},
      {early + early + ok("never"), make_error_code(http::client_error::too_many_interim)},
      {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
       make_error_code(http::refusal::bad_content_length)},
  };
  for (const auto& one : cases) {
    CAPTURE(one.answer);
    client_site s({.interim_bytes = 40});
    s.server.answers_early = true;
    s.server.will(one.answer);
    bool done = false;
    const auto run = [&](http::client& web) -> task<> {
      http::call large(web, http::method::post, s.url());
      const error_code ec = co_await upload(large, 100'000);
      CHECK(ec == beck::errc::broken_pipe);
      auto got = co_await large.async_finish();
      CHECK(got.error() == one.expected);
      done = true;
    };
    co_spawn(s.ctx, run(*s.web), beck::detached);
    s.run_until([&] { return done; });
    CHECK(s.web->stats().connections == 0);
  }
}

CONFORMANCE("http client: a response that ends an upload with its connection is the result") {
  client_site s;
  s.server.answers_early = true;
  s.server.will("HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n", after::end);
  bool done = false;
  const auto run = [&](http::client& web) -> task<> {
    http::call large(web, http::method::post, s.url());
    large.content_length(1'000'000'000);
    const error_code ec = co_await upload(large, 1'000'000);
    CHECK(ec == beck::errc::broken_pipe);
    auto got = co_await large.async_finish();
    CHECK(!got.error());
    if (!got.error()) CHECK(beck::http::number_of(got->status()) == 302);
    done = true;
  };
  co_spawn(s.ctx, run(*s.web), beck::detached);
  s.run_until([&] { return done; });
  CHECK(s.web->stats().connections == 0);
}

CONFORMANCE("http client: a response that was there before the upload ends its connection") {
  for (const bool streams : {false, true}) {
    CAPTURE(streams);
    client_site s;
    s.server.answers_early = true;
    s.server.will(ok("early"));
    const std::string body(streams ? 10'000 : 20'000'000, 'b');
    std::string text;
    const auto run = [&](http::client& web) -> task<> {
      http::call large(web, http::method::post, s.url());
      http::client_response r;
      if (streams) {
        large.content_length(body.size());
        const error_code ec = co_await upload(large, 10);
        CHECK(!ec);
        auto got = co_await large.async_finish();
        r = std::move(got).value();
      } else {
        auto got = co_await large.async_finish(beck::buffer(body));
        r = std::move(got).value();
      }
      beck::steady_timer pause(large.get_executor());
      while (s.server.dropped < body.size()) {
        pause.expires_after(beck::duration(1'000'000));
        beck::ignore(co_await pause.async_wait());
      }
      auto read = co_await r.body().async_read_all(100);
      text = std::move(read).value();
    };
    co_spawn(s.ctx, run(*s.web), beck::detached);
    s.run_until([&] { return !text.empty(); });
    CHECK(s.web->stats().connections == 0);
    if (s.web->stats().connections != 0) continue;
    s.server.answers_early = false;
    s.server.will(ok("next"));
    CHECK(s.get().body == "next");
    CHECK(s.server.connections() == 2);
  }
}

CONFORMANCE("http client: nobody else receives from a stream that is taken during an upload") {
  client_site s;
  s.server.answers_early = true;
  s.server.will("HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n");
  bool done = false;
  const auto run = [&](http::client& web) -> task<> {
    http::call ask(web, http::method::post, s.url());
    ask.upgrade("x").content_length(100'000);
    const error_code ec = co_await upload(ask, 100);
    CHECK(!ec);
    auto got = co_await ask.async_finish();
    http::client_response answered = std::move(got).value();
    http::taken_stream taken = answered.take_over();
    s.server.push(0, "later");
    std::string all;
    while (all.size() < 5) {
      auto more = co_await beck::timeout(taken.stream->receive(), beck::duration(5'000'000'000));
      CHECK(!more.error());
      if (more.error()) break;
      all.append(more->data(), more->size());
    }
    CHECK(all == "later");
    done = true;
  };
  co_spawn(s.ctx, run(*s.web), beck::detached);
  s.run_until([&] { return done; });
}

CONFORMANCE_ON(beck::test::sim, "http client: an early body without end does not fill the memory") {
  // In a simulated world, where sockets hold little and a limit of time costs none.
  client_site s;
  ip::tcp::acceptor acceptor(s.ctx, ip::tcp::endpoint(ip::address_v4::loopback(), 0));
  const std::string at = "http://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port());
  std::size_t responded = 0;
  bool done = false;
  const auto response_on = [&]() -> task<> {
    auto got = co_await acceptor.async_accept();
    ip::tcp::socket socket = std::move(got).value();
    std::string next = "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n";
    std::string room(65'536, ' ');
    for (error_code ec; !ec;) {
      auto wrote = co_await beck::async_write(socket, beck::buffer(next));
      if (wrote.error()) break;
      responded += wrote.value_;
      next.assign(65'536, 'b');
      auto read = co_await socket.async_read_some(beck::buffer(room));
      ec = read.error();
    }
  };
  const auto run = [&](http::client& web) -> task<> {
    http::call to(web, http::method::post, at);
    beck::ignore(co_await upload(to, 3000));
    done = true;
  };
  co_spawn(s.ctx, response_on(), beck::detached);
  co_spawn(s.ctx, run(*s.web), beck::detached);
  s.run_until([&] { return done; });
  CHECK(responded < 1'000'000);
  s.web.reset();
  s.settle();
}

CONFORMANCE(
    "http client: a call that is finished while a write of it connects ends, and frees both") {
  client_site s;
  s.server.answers_early = true;
  s.server.will(ok("x"));
  s.server.will(ok("y"));
  {
    http::call c(*s.web, http::method::post, s.url());
    bool has_written = false;
    c.async_write_some(beck::buffer("hello", 5),
                       [&](error_code, std::size_t) { has_written = true; });
    outcome& got = s.start(c.async_finish());
    s.run_until([&] { return got.done && has_written; });
    CHECK(s.server.requests.size() <= 1);  // of the two one has sent it
  }
  s.settle();
  CHECK(s.web->stats().connections <= 1);  // which is idle
}

namespace {

/// Refuses its first connection, late, and makes the others later.
class late_connector final : public http::connector {
 public:
  explicit late_connector(std::uint16_t port) : port_(port) {}
  task<beck::io_result<beck::owned_stream>> connect(beck::any_io_executor on,
                                                    const http::origin&) override {
    const bool is_first = ++calls_ == 1;
    beck::steady_timer timer(on, beck::duration(calls_ * 1'000'000));
    beck::ignore(co_await timer.async_wait());
    beck::io_result<beck::owned_stream> result;
    result.error_ = make_error_code(std::errc::connection_refused);
    if (is_first) co_return result;
    auto connecting = ip::connect_stream(on, "127.0.0.1", port_);
    result = co_await std::move(connecting);
    co_return result;
  }

 private:
  std::uint16_t port_;
  int calls_ = 0;
};

}  // namespace

CONFORMANCE("http client: of two writes at once, of which one gets no connection, both end") {
  client_site s;
  late_connector connects(s.server.endpoint().port());
  s.web->connect_with(connects);
  s.server.answers_early = true;
  s.server.will(ok("x"));
  http::call c(*s.web, http::method::post, s.url());
  c.expect_continue();
  int ended = 0;
  for (int i = 0; i < 2; ++i)
    c.async_write_some(beck::buffer("hello", 5), [&](error_code, std::size_t) { ++ended; });
  s.run_until([&] { return ended == 2; });
  CHECK(s.server.requests.empty());
}
