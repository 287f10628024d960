// SPDX-License-Identifier: BSL-1.0
//
// HTTP calls on bare edge-triggered epoll: fixed requests. Of the head of a response it reads the
// status and Content-Length, which it expects in this spelling; the body is counted.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "../common/http_calls.hpp"

namespace {

struct connection {
  int fd = -1;
  bool in_body = false;
  unsigned status = 0;
  std::size_t filled = 0;  // of a head that is not whole yet
  std::size_t length = 0;  // of the body
  std::size_t received = 0;
  char buffer[bench::http_calls::buffer_size];
};

unsigned long number(std::string_view text) {
  unsigned long value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  bench::require(end.ec == std::errc(), "a number of a head is none");
  return value;
}

class client {
 public:
  explicit client(bench::http_calls& c)
      : calls_(c),
        request_("GET " + c.path() + " HTTP/1.1\r\nHost: " + c.authority() + "\r\n\r\n"),
        connections_(bench::http_calls::in_flight),
        poller_(epoll_create1(EPOLL_CLOEXEC)) {
    if (poller_ < 0) bench::fail_errno("epoll_create1");
  }
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client() {
    for (const connection& c : connections_) close(c.fd);
    close(poller_);
  }

  void run() {
    for (connection& c : connections_) {
      connect_to_server(c);
      ask(c);
    }
    std::size_t left = connections_.size();
    epoll_event events[bench::http_calls::in_flight];
    while (left != 0) {
      const int n = epoll_wait(poller_, events, bench::http_calls::in_flight, -1);
      if (n < 0 && errno != EINTR) bench::fail_errno("epoll_wait");
      for (int i = 0; i < n; ++i) {
        auto& c = *static_cast<connection*>(events[i].data.ptr);
        if (!receive(c)) continue;
        if (calls_.take(c.status, c.received))
          ask(c);
        else
          --left;
      }
    }
  }

 private:
  void connect_to_server(connection& c) {
    c.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c.fd < 0) bench::fail_errno("socket");
    const int on = 1;
    setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in server{};
    server.sin_family = AF_INET;
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server.sin_port = htons(static_cast<in_port_t>(calls_.options().port));
    if (connect(c.fd, reinterpret_cast<const sockaddr*>(&server), sizeof server) != 0)
      bench::fail_errno("connect");
    epoll_event e{};
    e.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
    e.data.ptr = &c;
    if (epoll_ctl(poller_, EPOLL_CTL_ADD, c.fd, &e) != 0) bench::fail_errno("epoll_ctl");
  }

  void ask(connection& c) {
    const ssize_t n = send(c.fd, request_.data(), request_.size(), MSG_NOSIGNAL);
    if (n < 0) bench::fail_errno("send");
    bench::require(static_cast<std::size_t>(n) == request_.size(), "half a request was sent");
    c.in_body = false;
    c.filled = c.received = 0;
  }

  // Receives all there is; returns whether the response is whole. Behind it nothing can be.
  static bool receive(connection& c) {
    for (;;) {
      const std::size_t room = sizeof c.buffer - c.filled;
      const ssize_t n = recv(c.fd, c.buffer + c.filled, room, MSG_DONTWAIT);
      if (n < 0 && errno == EAGAIN) return false;
      if (n < 0) bench::fail_errno("recv");
      bench::require(n != 0, "the server has closed a connection");
      if (c.in_body)
        c.received += static_cast<std::size_t>(n);
      else
        take_head(c, static_cast<std::size_t>(n));
      if (c.in_body && c.received >= c.length) return true;
      if (static_cast<std::size_t>(n) < room) return false;  // the next edge tells
    }
  }

  static void take_head(connection& c, std::size_t more) {
    c.filled += more;
    const std::string_view text(c.buffer, c.filled);
    const std::size_t end = text.find("\r\n\r\n");
    if (end == std::string_view::npos)
      return bench::require(c.filled < sizeof c.buffer, "a head is too long");
    const std::string_view head = text.substr(0, end + 2);
    constexpr std::string_view version = "HTTP/1.1 ", name = "\r\nContent-Length: ";
    bench::require(head.starts_with(version), "not a response of HTTP/1.1");
    c.status = static_cast<unsigned>(number(head.substr(version.size(), 3)));
    const std::size_t field = head.find(name);
    bench::require(field != std::string_view::npos, "a head without Content-Length");
    c.length = number(head.substr(field + name.size()));
    c.received = c.filled - (end + 4);
    c.filled = 0;
    c.in_body = true;
  }

  bench::http_calls& calls_;
  std::string request_;
  std::vector<connection> connections_;
  int poller_;
};

template <std::size_t Body>
void run(bench::meter& m) {
  bench::http_calls calls(m, Body);
  client c(calls);
  m.start();
  c.run();
  m.finish(calls.done());
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "http_client", {{"1k", run<1024>}, {"64k", run<65536>}});
}
