// SPDX-License-Identifier: BSL-1.0
//
// A message is a slice of a pattern without short periods. The position of the slice changes from
// message to message and from connection to connection, so an answer that is lost, repeated,
// swapped or damaged does not compare equal.
#include "echo_client.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "echo.hpp"

namespace bench {
namespace {

constexpr std::size_t positions = 8191;  // a prime, so that the places do not repeat soon
constexpr std::size_t step = 613;
constexpr int events_max = 1024;
constexpr int stall_ms = 10'000;

}  // namespace

echo_client::echo_client(std::size_t connections, std::size_t message_size)
    : message_size_(message_size),
      pattern_(positions + message_size),
      buffer_(message_size + 1),
      poller_(epoll_create1(EPOLL_CLOEXEC)) {
  if (poller_ < 0) fail_errno("epoll_create1");
  std::uint64_t x = 88172645463325252;
  for (unsigned char& byte : pattern_) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    byte = static_cast<unsigned char>(x);
  }
  connections_.reserve(connections);
  for (std::size_t i = 0; i < connections; ++i) connections_.push_back({-1, i % positions, 0, 0});
}

echo_client::~echo_client() {
  for (const connection& c : connections_) close(c.fd);
  close(poller_);
}

void echo_client::connect(const sockaddr_in& server) {
  for (connection& c : connections_) {
    c.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c.fd < 0) fail_errno("socket");
    if (::connect(c.fd, reinterpret_cast<const sockaddr*>(&server), sizeof server) != 0)
      fail_errno("connect");
    set_no_delay(c.fd);
    epoll_event e{};
    e.events = EPOLLIN | EPOLLOUT | EPOLLET;
    e.data.ptr = &c;
    if (epoll_ctl(poller_, EPOLL_CTL_ADD, c.fd, &e) != 0) fail_errno("epoll_ctl");
  }
  exchange([](std::uint64_t) { return true; });
}

void echo_client::send_next(connection& c) {
  c.position = (c.position + step) % positions;
  c.sent = c.received = 0;
  send_rest(c);
}

void echo_client::send_rest(connection& c) {
  const ssize_t n = send(c.fd, pattern_.data() + c.position + c.sent, message_size_ - c.sent,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n >= 0)
    c.sent += static_cast<std::size_t>(n);
  else if (errno != EAGAIN)
    fail_errno("send");
}

bool echo_client::receive(connection& c) {
  const ssize_t n = recv(c.fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (n < 0 && errno == EAGAIN) return false;
  if (n < 0) fail_errno("recv");
  if (n == 0) fail("the server closed a connection");
  const std::size_t size = static_cast<std::size_t>(n);
  require(c.received + size <= c.sent, "the server sent more than it got");
  require(std::memcmp(buffer_.data(), pattern_.data() + c.position + c.received, size) == 0,
          "an answer was lost, repeated or damaged");
  c.received += size;
  return c.received == message_size_;
}

const std::vector<echo_client::connection*>& echo_client::wait() {
  epoll_event events[events_max];
  const int n = epoll_wait(poller_, events, events_max, stall_ms);
  if (n == 0) fail("the server stalled");
  if (n < 0 && errno != EINTR) fail_errno("epoll_wait");
  readable_.clear();
  for (int i = 0; i < n; ++i) {
    connection* c = static_cast<connection*>(events[i].data.ptr);
    if ((events[i].events & EPOLLOUT) != 0 && c->sent < message_size_) send_rest(*c);
    if ((events[i].events & ~static_cast<unsigned>(EPOLLOUT)) != 0) readable_.push_back(c);
  }
  return readable_;
}

}  // namespace bench
