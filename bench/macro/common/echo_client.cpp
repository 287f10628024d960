// SPDX-License-Identifier: BSL-1.0
//
// A message is a slice of a pattern without short periods. The position of the slice changes from
// message to message and from connection to connection, so an answer that is lost, repeated,
// swapped or damaged does not compare equal.
#include "echo_client.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
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

echo_framing websocket_framing(std::size_t message_size) {
  echo_framing f;
  f.question =
      "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  require(message_size <= 65535, "a message of WebSocket is at most 65535 bytes here");
  std::string length(1, static_cast<char>(message_size < 126 ? message_size : 126));
  if (message_size >= 126) {
    length += static_cast<char>(message_size >> 8);
    length += static_cast<char>(message_size);
  }
  f.answer_head = "\x82" + length;
  length[0] = static_cast<char>(length[0] | '\x80');
  f.sent_head = "\x82" + length + std::string(4, '\0');
  return f;
}

echo_client::echo_client(std::size_t connections, std::size_t message_size, echo_framing framing)
    : framing_(std::move(framing)),
      message_size_(message_size),
      sent_size_(framing_.sent_head.size() + message_size),
      answer_size_(framing_.answer_head.size() + message_size),
      pattern_(positions + message_size),
      buffer_(answer_size_ + 1),
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
    if (!framing_.question.empty()) ask(c.fd);
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

void echo_client::expect_next() {
  connection& first = connections_.front();
  const std::size_t position = (first.position + step) % positions;
  for (connection& c : connections_) {
    c.position = position;
    c.received = 0;
    c.sent = sent_size_;
  }
  first.sent = 0;
  send_rest(first);
}

void echo_client::send_rest(connection& c) {
  const std::size_t head = framing_.sent_head.size();
  iovec parts[2];
  int count = 0;
  if (c.sent < head) parts[count++] = {framing_.sent_head.data() + c.sent, head - c.sent};
  const std::size_t sent = std::max(c.sent, head) - head;
  parts[count++] = {pattern_.data() + c.position + sent, message_size_ - sent};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = static_cast<std::size_t>(count);
  const ssize_t n = sendmsg(c.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n >= 0)
    c.sent += static_cast<std::size_t>(n);
  else if (errno != EAGAIN)
    fail_errno("send");
}

// Sends the question, and reads its answer byte by byte.
void echo_client::ask(int fd) const {
  const std::string& question = framing_.question;
  if (send(fd, question.data(), question.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(question.size()))
    fail_errno("send");
  std::string answer;
  while (answer.size() < 4 || answer.compare(answer.size() - 4, 4, "\r\n\r\n") != 0) {
    char byte;
    if (recv(fd, &byte, 1, 0) != 1) fail("the server did not answer the question");
    answer += byte;
  }
}

// Returns whether the next `size` bytes of an answer are what was sent.
bool echo_client::is_right(const connection& c, std::size_t size) const {
  const std::size_t head = framing_.answer_head.size();
  const std::size_t of_head = c.received < head ? std::min(size, head - c.received) : 0;
  if (std::memcmp(buffer_.data(), framing_.answer_head.data() + std::min(c.received, head),
                  of_head) != 0)
    return false;
  const std::size_t at = c.position + std::max(c.received, head) - head;
  return std::memcmp(buffer_.data() + of_head, pattern_.data() + at, size - of_head) == 0;
}

bool echo_client::receive(connection& c) {
  const ssize_t n = recv(c.fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (n < 0 && errno == EAGAIN) return false;
  if (n < 0) fail_errno("recv");
  if (n == 0) fail("the server closed a connection");
  const std::size_t size = static_cast<std::size_t>(n);
  require(c.received + size <= answer_size_ && c.received + size <= c.sent,
          "the server sent more than it got");
  require(is_right(c, size), "an answer was lost, repeated or damaged");
  c.received += size;
  return c.received == answer_size_;
}

const std::vector<echo_client::connection*>& echo_client::wait() {
  epoll_event events[events_max];
  const int n = epoll_wait(poller_, events, events_max, stall_ms);
  if (n == 0) fail("the server stalled");
  if (n < 0 && errno != EINTR) fail_errno("epoll_wait");
  readable_.clear();
  for (int i = 0; i < n; ++i) {
    connection* c = static_cast<connection*>(events[i].data.ptr);
    if ((events[i].events & EPOLLOUT) != 0 && c->sent < sent_size_) send_rest(*c);
    if ((events[i].events & ~static_cast<unsigned>(EPOLLOUT)) != 0) readable_.push_back(c);
  }
  return readable_;
}

}  // namespace bench
