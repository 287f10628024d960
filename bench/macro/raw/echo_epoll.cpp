// SPDX-License-Identifier: BSL-1.0
//
// Echo on bare edge-triggered epoll, with one buffer per connection and one recv per edge. That is
// enough because a client has one message in flight, which fits the buffer: a full buffer never
// leaves bytes behind.
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "../common/echo.hpp"

namespace {

constexpr int events_max = 512;

struct connection {
  int fd;
  std::unique_ptr<char[]> buffer;
  std::size_t begin = 0;  // [begin, end) is still to be sent after a short send
  std::size_t end = 0;
};

void watch(int poller, int fd, unsigned events, void* pointer) {
  epoll_event e{};
  e.events = events;
  e.data.ptr = pointer;
  if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e) != 0) bench::fail_errno("epoll_ctl");
}

void accept_all(int poller, const bench::echo_job& job) {
  for (;;) {
    const int fd = accept4(job.listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && errno == EAGAIN) return;
    if (fd < 0) bench::fail_errno("accept4");
    bench::set_no_delay(fd);
    auto* c = new connection{fd, std::make_unique_for_overwrite<char[]>(job.buffer_size)};
    watch(poller, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, c);
  }
}

// Sends the rest of the buffer. Returns false if the connection has ended.
bool send_rest(connection& c) {
  while (c.begin < c.end) {
    const ssize_t n = send(c.fd, c.buffer.get() + c.begin, c.end - c.begin, MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN;
    c.begin += static_cast<std::size_t>(n);
  }
  return true;
}

bool serve_edge(connection& c, unsigned events, std::size_t buffer_size) {
  if (c.begin < c.end && (events & EPOLLOUT) != 0) {
    if (!send_rest(c)) return false;
    events |= EPOLLIN;  // an edge that came while the buffer was taken
  }
  if (c.begin < c.end || (events & ~static_cast<unsigned>(EPOLLOUT)) == 0) return true;
  const ssize_t n = recv(c.fd, c.buffer.get(), buffer_size, 0);
  if (n < 0 && errno == EAGAIN) return true;
  if (n <= 0) return false;
  c.begin = 0;
  c.end = static_cast<std::size_t>(n);
  return send_rest(c);
}

void serve(const bench::settings&, const bench::echo_job& job) {
  const int poller = epoll_create1(EPOLL_CLOEXEC);
  if (poller < 0) bench::fail_errno("epoll_create1");
  watch(poller, job.listener, EPOLLIN, nullptr);
  const int on = 1;
  if (ioctl(job.listener, FIONBIO, &on) != 0) bench::fail_errno("FIONBIO");
  epoll_event events[events_max];
  for (;;) {
    const int n = epoll_wait(poller, events, events_max, -1);
    if (n < 0 && errno != EINTR) bench::fail_errno("epoll_wait");
    for (int i = 0; i < n; ++i) {
      auto* c = static_cast<connection*>(events[i].data.ptr);
      if (c == nullptr) {
        accept_all(poller, job);
      } else if (!serve_edge(*c, events[i].events, job.buffer_size)) {
        close(c->fd);
        delete c;
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::run_echo(argc, argv, serve); }
