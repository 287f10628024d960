// SPDX-License-Identifier: BSL-1.0
//
// A server on bare edge-triggered epoll, with one buffer per connection: accepts, and hands each
// edge of a connection to the peer's own function.
#pragma once

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "../common/echo.hpp"

namespace raw {

struct edge_connection {
  int fd;
  std::unique_ptr<char[]> buffer;
  std::size_t begin = 0;  // [begin, end) of the buffer is still to be sent
  std::size_t end = 0;
};

// Sends the rest of the buffer. Returns false if the connection has ended.
inline bool send_rest(edge_connection& c) {
  while (c.begin < c.end) {
    const ssize_t n = send(c.fd, c.buffer.get() + c.begin, c.end - c.begin, MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN;
    c.begin += static_cast<std::size_t>(n);
  }
  return true;
}

inline void watch(int poller, int fd, unsigned events, void* pointer) {
  epoll_event e{};
  e.events = events;
  e.data.ptr = pointer;
  if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e) != 0) bench::fail_errno("epoll_ctl");
}

template <class Connection>
void accept_all(int poller, int listener, std::size_t buffer_size) {
  for (;;) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && errno == EAGAIN) return;
    if (fd < 0) bench::fail_errno("accept4");
    bench::set_no_delay(fd);
    auto* c = new Connection{{fd, std::make_unique_for_overwrite<char[]>(buffer_size)}};
    watch(poller, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, c);
  }
}

// Serves for ever. `receive(Connection&)` is called when there may be data to read and nothing is
// left to send. It returns false if the connection has ended.
template <class Connection, class Receive>
void serve_edges(int listener, std::size_t buffer_size, Receive receive) {
  const auto serve_edge = [&](Connection& c, unsigned events) {
    if (c.begin < c.end && (events & EPOLLOUT) != 0) {
      if (!send_rest(c)) return false;
      events |= EPOLLIN;  // an edge that came while the buffer was taken
    }
    if (c.begin < c.end || (events & ~static_cast<unsigned>(EPOLLOUT)) == 0) return true;
    return receive(c);
  };
  const int poller = epoll_create1(EPOLL_CLOEXEC);
  if (poller < 0) bench::fail_errno("epoll_create1");
  watch(poller, listener, EPOLLIN, nullptr);
  const int on = 1;
  if (ioctl(listener, FIONBIO, &on) != 0) bench::fail_errno("FIONBIO");
  epoll_event events[512];
  for (;;) {
    const int n = epoll_wait(poller, events, 512, -1);
    if (n < 0 && errno != EINTR) bench::fail_errno("epoll_wait");
    for (int i = 0; i < n; ++i) {
      auto* c = static_cast<Connection*>(events[i].data.ptr);
      if (c == nullptr) {
        accept_all<Connection>(poller, listener, buffer_size);
      } else if (!serve_edge(*c, events[i].events)) {
        close(c->fd);
        delete c;
      }
    }
  }
}

}  // namespace raw
