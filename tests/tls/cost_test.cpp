// SPDX-License-Identifier: BSL-1.0
// The cost of an exchange over TLS, in system calls and allocations, counted on the real kernel.
// The peer is an engine over a blocking socket of this thread, so that everything counted is the
// server's. OpenSSL's own memory is not counted: it does not come from operator new.
#include <beck/http/server.hpp>

#include <sys/socket.h>

#include <string>

#include "http/counted_server.hpp"
#include "support/allocations.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"
#include "tls/engine_pair.hpp"

using namespace beck::tls::test;
using beck::http::test::call_counts;
using beck::test::kernel;
namespace http = beck::http;

namespace {

/// A server of TLS, and a connection to it.
class counted : public beck::http::test::counted_server {
 public:
  /// Makes the handshake. `first` is sent with its last message.
  template <class Handler>
  explicit counted(Handler handler, std::string first = {})
      : counted_server(std::move(handler), {.bodies = {.body_bytes = 10'000'000}},
                       &both_contexts::get().identity),
        client(both_contexts::get().trust.state().make_session("example.com")),
        first_(std::move(first)),
        fd_(connect()) {
    client.shake();
    send(output_of(client));
    while (client.state() == engine_state::shaking) receive();
  }

  void send(const std::string& sealed) {
    std::size_t at = 0;
    while (at < sealed.size()) {
      const ssize_t sent = ::send(fd_, sealed.data() + at, sealed.size() - at, MSG_DONTWAIT);
      if (sent > 0) at += static_cast<std::size_t>(sent);
      if (at < sealed.size()) turn();
    }
  }
  /// Receives once, as soon as there is something. Returns what it was decrypted to.
  std::string receive() {
    ssize_t got = -1;
    while ((got = ::recv(fd_, part_, sizeof part_, MSG_DONTWAIT)) < 0) turn();
    std::string answer;
    std::string text = feed(client, {part_, static_cast<std::size_t>(got)}, answer);
    if (client.state() == engine_state::open) answer += seal(client, std::exchange(first_, {}));
    if (!answer.empty()) send(answer);
    return text;
  }
  /// Sends `request`, and receives until a response has come that ends in `end`.
  std::string exchange(const std::string& request, const std::string& end) {
    send(seal(client, request));
    std::string text;
    while (!text.ends_with(end)) text += receive();
    return text;
  }
  void turn() {
    const std::uint64_t before = beck::test::allocations();
    ctx.poll_one();
    allocated += beck::test::allocations() - before;
  }

  std::uint64_t allocated = 0;  // by the server
  engine client;

 private:
  std::string first_;
  int fd_;
  char part_[131'072];
};

const std::string question = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

}  // namespace

CONFORMANCE_ON(kernel, "tls cost: an exchange is one receive and one send, and allocates nothing") {
  counted c([](http::request&, http::response& r) { r.send("hello\n"); });
  for (int i = 0; i < 10; ++i) c.exchange(question, "hello\n");
  const call_counts before = c.calls;
  c.allocated = 0;
  constexpr int rounds = 100;
  for (int i = 0; i < rounds; ++i) c.exchange(question, "hello\n");
  CHECK(c.calls.sends - before.sends == rounds);
  CHECK(c.calls.receives - before.receives == rounds);
  CHECK(c.calls.empty_receives == before.empty_receives);
  if (beck::test::counts_allocations()) CHECK(c.allocated == 0);
}

CONFORMANCE_ON(kernel,
               "tls cost: a response of 64 KiB is one send, and its records are not allocated") {
  const std::string body = beck::test::pattern(65'536) + "end\n";
  counted c([&](http::request&, http::response& r) { r.send(body); });
  for (int i = 0; i < 10; ++i) c.exchange(question, "end\n");
  const call_counts before = c.calls;
  c.allocated = 0;
  constexpr int rounds = 50;
  for (int i = 0; i < rounds; ++i) c.exchange(question, "end\n");
  CHECK(c.calls.sends - before.sends == rounds);
  CHECK(c.calls.receives - before.receives == rounds);
  if (beck::test::counts_allocations()) CHECK(c.allocated == 0);
}

CONFORMANCE_ON(kernel, "tls cost: the tickets of a handshake go out with the first response") {
  const auto hello = [](http::request&, http::response& r) { r.send("hello\n"); };
  counted together(hello, question);
  std::string text;
  while (!text.ends_with("hello\n")) text += together.receive();
  CHECK(together.calls.sends == 2);
  CHECK(together.calls.receives - together.calls.empty_receives == 2);
  counted apart(hello);
  while (apart.calls.sends < 2) apart.turn();  // without a request they do not wait
  apart.exchange(question, "hello\n");
  CHECK(apart.calls.sends == 3);
}

CONFORMANCE_ON(kernel,
               "tls cost: tickets leave when the server waits for more before it responds") {
  std::string body;
  counted c(
      [&](http::request& q, http::response& r) -> beck::task<> {
        char part[10];
        while (body.size() < 8) {
          auto got = co_await q.body().async_read_some(beck::buffer(part));
          if (got.error()) co_return;
          body.append(part, got.value_);
        }
        r.send("hello\n");
      },
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nhalf");
  for (int i = 0; i < 20; ++i) c.turn();
  CHECK(c.calls.sends == 2);  // of the handshake, and of the tickets
  CHECK(body == "half");
  c.exchange("more", "hello\n");
  CHECK(body == "halfmore");
  CHECK(c.calls.sends == 3);
}

CONFORMANCE_ON(kernel, "tls cost: the last response of a connection leaves with its end") {
  counted c([](http::request&, http::response& r) { r.send("hello\n"); },
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  std::string text;
  while (c.client.state() == engine_state::open) text += c.receive();
  CHECK(text.ends_with("hello\n"));
  CHECK(c.client.state() == engine_state::ended);
  CHECK(c.calls.sends == 1);
  CHECK(c.calls.last_sends == 1);
}

CONFORMANCE_ON(kernel, "tls cost: idle connections make no system call") {
  counted c([](http::request&, http::response& r) { r.send("hello\n"); });
  c.exchange(question, "hello\n");
  for (int i = 0; i < 10; ++i) c.ctx.poll();
  const call_counts before = c.calls;
  for (int i = 0; i < 100; ++i) CHECK(c.ctx.poll() == 0);
  CHECK(c.calls.receives == before.receives);
  CHECK(c.calls.sends == before.sends);
}
