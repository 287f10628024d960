// SPDX-License-Identifier: BSL-1.0
// Streams on Linux and on the simulated network: bytes, ends, resets, and what poll(2) says of
// them.
#include <doctest/doctest.h>

#include "io/sim/both_systems.hpp"

using namespace beck;
using namespace beck::detail;
using test::kernel_calls;
using test::on_both;

namespace {

constexpr int in = poll_in, out = poll_out, failed = poll_error, hang_up = poll_hang_up,
              end = poll_in | poll_read_hang_up;

void reset_on_close(const kernel_calls& k, int fd) {
  const linger now{1, 0};
  REQUIRE(k.sys().set_option(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now) == 0);
}

}  // namespace

TEST_CASE("a TCP connection carries bytes both ways, as Linux does") {
  on_both([](const kernel_calls& k) {
    const auto c = k.connected();
    CHECK(k.receive_now(c.server) == "EAGAIN");
    CHECK(k.send(c.client, "to the server") == 13);
    CHECK(k.receive(c.server, 13) == "to the server");
    CHECK(k.send(c.server, "and back") == 8);
    CHECK(k.receive(c.client, 8) == "and back");
    CHECK(k.receive_now(c.client) == "EAGAIN");
    CHECK(k.receive_now(c.client, 0) == "EAGAIN");
    CHECK(k.levels(c.client) == out);
    CHECK(k.sys().available(c.client) == 0);
    k.close(c);
  });
}

TEST_CASE("vectors are gathered and scattered in order, as on Linux") {
  on_both([](const kernel_calls& k) {
    int pair[2];
    REQUIRE(k.sys().open_pair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    char a[] = "abc", b[] = "", c[] = "defgh";
    const beck::detail::io_vector sent[] = {{a, 3}, {b, 0}, {c, 5}};
    CHECK(k.sys().send_vector(pair[0], sent, 3) == 8);
    std::string got;
    while (got.size() < 8) {
      char x[2], y[16];
      bool dropped = false;
      static_cast<void>(k.wait(pair[1], poll_in));
      beck::detail::io_vector room[] = {{x, sizeof x}, {y, sizeof y}};
      const auto n = static_cast<std::size_t>(k.sys().receive_vector(pair[1], room, 2, dropped));
      REQUIRE(n <= 8);
      CHECK_FALSE(dropped);
      got.append(x, n < 2 ? n : 2);
      if (n > 2) got.append(y, n - 2);
    }
    CHECK(got == "abcdefgh");
    k.sys().close(pair[0]);
    k.sys().close(pair[1]);
  });
}

TEST_CASE("the end of a TCP stream comes after its bytes and leaves the other direction open") {
  on_both([](const kernel_calls& k) {
    const auto c = k.connected();
    CHECK(k.send(c.client, "last words") == 10);
    CHECK(k.sys().shutdown(c.client, SHUT_WR) == 0);
    CHECK(k.send(c.client, "x") == -EPIPE);
    CHECK(k.receive(c.server, 11) == "last wordseof");
    CHECK(k.receive_now(c.server) == "eof");
    CHECK(k.levels(c.server) == (end | out));
    CHECK(k.send(c.server, "still here") == 10);
    CHECK(k.receive(c.client, 10) == "still here");
    CHECK(k.levels(c.client) == out);
    CHECK(k.sys().shutdown(c.server, SHUT_WR) == 0);
    k.settle(c.client, end | out | hang_up);
    k.settle(c.server, end | out | hang_up);
    CHECK(k.sys().shutdown(c.server, SHUT_WR) == -ENOTCONN);
    CHECK(k.sys().shutdown(c.client, SHUT_RDWR) == -ENOTCONN);
    CHECK(k.send(c.server, "x") == -EPIPE);
    k.close(c);
  });
}

TEST_CASE("a first write to a peer that has closed succeeds, the next ones give EPIPE") {
  on_both([](const kernel_calls& k) {
    const auto c = k.connected();
    k.sys().close(c.server);
    k.settle(c.client, end | out);
    CHECK(k.send(c.client, "into the void") == 13);
    k.settle(c.client, end | out | hang_up | failed);
    CHECK(k.receive_now(c.client) == "eof");
    CHECK(k.send(c.client, "x") == -EPIPE);
    CHECK(k.send(c.client, "x") == -EPIPE);
    k.sys().close(c.client);
    k.sys().close(c.listener);
  });
}

TEST_CASE("closing with unread bytes resets a TCP connection") {
  on_both([](const kernel_calls& k) {
    const auto c = k.connected();
    CHECK(k.send(c.client, "never read") == 10);
    static_cast<void>(k.wait(c.server, poll_in));
    k.sys().close(c.server);
    k.settle(c.client, end | out | hang_up | failed);
    CHECK(k.receive_now(c.client) == "ECONNRESET");
    CHECK(k.receive_now(c.client) == "eof");  // an error is reported once
    CHECK(k.send(c.client, "x") == -EPIPE);
    CHECK(k.sys().shutdown(c.client, SHUT_RDWR) == -ENOTCONN);
    k.sys().close(c.client);
    k.sys().close(c.listener);
  });
}

TEST_CASE("a linger time of 0 makes close reset, and what had arrived can still be read") {
  on_both([](const kernel_calls& k) {
    const auto c = k.connected();
    CHECK(k.send(c.server, "first this") == 10);
    CHECK(k.receive(c.client, 6) == "first ");
    k.settle_bytes(c.client, 4);
    reset_on_close(k, c.server);
    k.sys().close(c.server);
    k.settle(c.client, end | out | hang_up | failed);
    CHECK(k.send(c.client, "x") == -ECONNRESET);
    CHECK(k.receive(c.client, 5) == "thiseof");
    k.sys().close(c.client);
    k.sys().close(c.listener);
  });
}

TEST_CASE("both ends of a UNIX pair see a close as on Linux") {
  on_both([](const kernel_calls& k) {
    int pair[2];
    REQUIRE(k.sys().open_pair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CHECK(k.levels(pair[0]) == out);
    CHECK(k.send(pair[0], "bye") == 3);
    k.sys().close(pair[0]);
    CHECK(k.send(pair[1], "x") == -EPIPE);  // at once
    CHECK(k.receive(pair[1], 4) == "byeeof");
    CHECK(k.levels(pair[1]) == (end | out | hang_up));
    k.sys().close(pair[1]);
  });
}

TEST_CASE("closing a UNIX socket with unread bytes gives its peer ECONNRESET once") {
  on_both([](const kernel_calls& k) {
    int pair[2];
    REQUIRE(k.sys().open_pair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CHECK(k.send(pair[1], "never read") == 10);
    k.sys().close(pair[0]);
    k.settle(pair[1], end | out | hang_up | failed);
    CHECK(k.send(pair[1], "x") == -EPIPE);
    CHECK(k.receive_now(pair[1]) == "ECONNRESET");
    CHECK(k.receive_now(pair[1]) == "eof");
    k.sys().close(pair[1]);
  });
}

TEST_CASE("shutting down a UNIX socket reaches both ends") {
  on_both([](const kernel_calls& k) {
    int pair[2];
    REQUIRE(k.sys().open_pair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CHECK(k.send(pair[0], "left") == 4);
    CHECK(k.sys().shutdown(pair[0], SHUT_WR) == 0);
    CHECK(k.sys().shutdown(pair[0], SHUT_WR) == 0);
    CHECK(k.receive(pair[1], 5) == "lefteof");
    CHECK(k.sys().shutdown(pair[0], SHUT_RD) == 0);
    CHECK(k.send(pair[1], "x") == -EPIPE);
    CHECK(k.receive_now(pair[0]) == "eof");
    CHECK(k.levels(pair[0]) == (end | out | hang_up));
    k.sys().close(pair[0]);
    k.sys().close(pair[1]);
  });
}

TEST_CASE("a TCP socket that reads no more still gets what comes") {
  on_both([](const kernel_calls& k) {
    const auto c = k.connected();
    CHECK(k.sys().shutdown(c.client, SHUT_RD) == 0);
    CHECK(k.receive_now(c.client) == "eof");
    CHECK(k.levels(c.client) == (end | out));
    CHECK(k.send(c.server, "late") == 4);
    k.settle_bytes(c.client, 4);
    CHECK(k.receive(c.client, 4) == "late");
    k.close(c);
  });
}

TEST_CASE("a sender finds no room until its peer has read, and loses nothing") {
  on_both([](const kernel_calls& k) {
    for (const bool tcp : {true, false}) {
      int pair[2];
      int listener = -1;
      if (tcp) {
        const auto c = k.connected();
        pair[0] = c.client;
        pair[1] = c.server;
        listener = c.listener;
      } else {
        REQUIRE(k.sys().open_pair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
      }
      std::string part(10'000, '\0');
      std::size_t sent = 0;
      for (;;) {
        for (std::size_t i = 0; i < part.size(); ++i) part[i] = static_cast<char>((sent + i) % 251);
        const std::ptrdiff_t n = k.send(pair[0], part);
        if (n < 0) {
          CHECK(n == -EAGAIN);
          k.pass();  // on Linux some more may get through
          if (k.levels(pair[0]) == 0) break;
          continue;
        }
        sent += static_cast<std::size_t>(n);
        if (sent > 100'000'000) break;
      }
      CHECK(k.levels(pair[0]) == 0);
      std::size_t received = 0, wrong = 0;
      while (received < sent) {
        REQUIRE((k.wait(pair[1], poll_in) & in) != 0);
        const std::string got = k.receive_now(pair[1], 30'000);
        for (std::size_t i = 0; i < got.size(); ++i) {
          if (got[i] != static_cast<char>((received + i) % 251)) ++wrong;
        }
        received += got.size();
      }
      CHECK(received == sent);
      CHECK(wrong == 0);
      CHECK((k.wait(pair[0], poll_out) & out) != 0);
      k.sys().close(pair[0]);
      k.sys().close(pair[1]);
      if (listener >= 0) k.sys().close(listener);
    }
  });
}

TEST_CASE("sockets without a peer refuse to read, write and shut down as on Linux") {
  on_both([](const kernel_calls& k) {
    const int tcp = k.tcp();
    CHECK(k.levels(tcp) == (out | hang_up));
    CHECK(k.receive_now(tcp) == "ENOTCONN");
    CHECK(k.send(tcp, "x") == -EPIPE);
    CHECK(k.sys().shutdown(tcp, SHUT_RDWR) == -ENOTCONN);
    CHECK(k.sys().shutdown(tcp, 3) == -EINVAL);
    const int local = k.local();
    CHECK(k.levels(local) == (out | hang_up));
    CHECK(k.receive_now(local) == "EINVAL");
    CHECK(k.send(local, "x") == -ENOTCONN);
    CHECK(k.sys().shutdown(local, SHUT_RDWR) == 0);
    const int listener = k.listener();
    CHECK(k.levels(listener) == 0);
    CHECK(k.receive_now(listener) == "ENOTCONN");
    CHECK(k.send(listener, "x") == -EPIPE);
    for (const int fd : {tcp, local, listener}) CHECK(k.sys().close(fd) == 0);
    CHECK(k.sys().close(tcp) == -EBADF);
    CHECK(k.receive_now(tcp) == "EBADF");
    CHECK(k.sys().poll(tcp, poll_in, INT64_MIN) == -EBADF);
  });
}
