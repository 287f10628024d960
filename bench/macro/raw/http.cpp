// SPDX-License-Identifier: BSL-1.0
//
// An HTTP server on bare edge-triggered epoll. It reads whole heads, but only looks for their end:
// the response is always the same. Heads that arrive together are answered with one call.
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "../common/http_service.hpp"
#include "../common/measure.hpp"

namespace {

constexpr int events_max = 512;
constexpr std::size_t input_max = 8192;
constexpr std::size_t gathered_max = 64;  // responses of one call

struct connection {
  int fd;
  std::string input;        // the beginning of a head
  std::string output = {};  // what the socket did not take
  off_t file_at = -1;       // the next byte of the file that is being sent; -1: none
  bool closing = false;
};

class server {
 public:
  explicit server(const bench::http_service& s)
      : service_(s), listener_(bench::http_listener()), poller_(epoll_create1(EPOLL_CLOEXEC)) {
    if (poller_ < 0) bench::fail_errno("epoll_create1");
    body_ = s.file.empty() ? s.body() : std::string();
    length_ = body_.size();
    if (!s.file.empty()) {
      file_ = open(s.file.c_str(), O_RDONLY | O_CLOEXEC);
      struct stat about{};
      if (file_ < 0 || fstat(file_, &about) != 0) bench::fail_errno("open");
      length_ = static_cast<std::size_t>(about.st_size);
    }
    watch(listener_, EPOLLIN, nullptr);
    bench::http_ready_on(listener_);
  }

  void run() {
    epoll_event events[events_max];
    for (;;) {
      const int n = epoll_wait(poller_, events, events_max, -1);
      if (n < 0 && errno != EINTR) bench::fail_errno("epoll_wait");
      refresh();
      for (int i = 0; i < n; ++i) {
        auto* c = static_cast<connection*>(events[i].data.ptr);
        if (c == nullptr) {
          accept_all();
        } else if (!serve(*c)) {
          close(c->fd);
          delete c;
        }
      }
    }
  }

 private:
  void watch(int fd, unsigned events, void* pointer) {
    epoll_event e{};
    e.events = events;
    e.data.ptr = pointer;
    if (epoll_ctl(poller_, EPOLL_CTL_ADD, fd, &e) != 0) bench::fail_errno("epoll_ctl");
  }

  /// Makes the response anew once a second.
  void refresh() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (now.tv_sec == made_at_) return;
    made_at_ = now.tv_sec;
    head_ = bench::http_head(service_, length_);
    response_ = head_ + body_;
  }

  void accept_all() {
    for (;;) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0 && errno == EAGAIN) return;
      if (fd < 0) bench::fail_errno("accept4");
      auto* c = new connection{fd, {}};
      watch(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, c);
    }
  }

  // The next three return false if the connection has ended.
  bool serve(connection& c) {
    if (!send_rest(c)) return false;
    if (!c.output.empty() || c.file_at >= 0) return true;
    char data[input_max];
    for (;;) {
      const ssize_t n = recv(c.fd, data, sizeof data, 0);
      if (n < 0) return errno == EAGAIN;
      if (n == 0) return false;
      const std::size_t responses = heads({data, static_cast<std::size_t>(n)}, c);
      if (responses != 0 && !answer(c, responses)) return false;
      if (static_cast<std::size_t>(n) < sizeof data) return true;  // the next edge tells
    }
  }

  /// Returns how many heads end in `data`; keeps what is behind the last.
  static std::size_t heads(std::string_view data, connection& c) {
    if (!c.input.empty()) data = c.input.append(data);
    std::size_t count = 0;
    for (;;) {
      const void* const found = memmem(data.data(), data.size(), "\r\n\r\n", 4);
      if (found == nullptr) break;
      data.remove_prefix(static_cast<std::size_t>(static_cast<const char*>(found) - data.data()) +
                         4);
      ++count;
    }
    c.input = std::string(data);
    return count;
  }

  bool answer(connection& c, std::size_t responses) {
    c.closing = service_.close;
    if (file_ >= 0) {
      c.output = head_;
      c.file_at = 0;
      return send_rest(c);
    }
    if (responses == 1) return send_one(c);
    iovec parts[gathered_max];
    while (responses != 0) {
      const std::size_t count = std::min(responses, gathered_max);
      for (std::size_t i = 0; i < count; ++i) parts[i] = {response_.data(), response_.size()};
      msghdr message{};
      message.msg_iov = parts;
      message.msg_iovlen = count;
      const ssize_t n = c.output.empty() ? sendmsg(c.fd, &message, MSG_NOSIGNAL) : 0;
      if (n < 0 && errno != EAGAIN) return false;
      keep_rest(c, count, n < 0 ? 0 : static_cast<std::size_t>(n));
      responses -= count;
    }
    return !(c.closing && c.output.empty());
  }

  bool send_one(connection& c) {
    const ssize_t n = send(c.fd, response_.data(), response_.size(), MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN) return false;
    keep_rest(c, 1, n < 0 ? 0 : static_cast<std::size_t>(n));
    return !(c.closing && c.output.empty());
  }

  void keep_rest(connection& c, std::size_t responses, std::size_t sent) {
    if (sent == responses * response_.size()) return;
    std::string all;
    for (std::size_t i = 0; i < responses; ++i) all.append(response_);
    c.output.append(all, sent);
  }

  bool send_rest(connection& c) {
    while (!c.output.empty()) {
      const int more = c.file_at >= 0 ? MSG_MORE : 0;
      const ssize_t n = send(c.fd, c.output.data(), c.output.size(), MSG_NOSIGNAL | more);
      if (n < 0) return errno == EAGAIN;
      c.output.erase(0, static_cast<std::size_t>(n));
    }
    while (c.file_at >= 0) {
      const ssize_t n = sendfile(c.fd, file_, &c.file_at, 1 << 21);
      if (n < 0) return errno == EAGAIN;
      if (static_cast<std::size_t>(c.file_at) >= length_) c.file_at = -1;
    }
    return !c.closing;
  }

  bench::http_service service_;
  int listener_;
  int poller_;
  int file_ = -1;
  std::size_t length_ = 0;
  std::string body_;
  std::string head_;
  std::string response_;
  std::time_t made_at_ = 0;
};

}  // namespace

int main(int argc, char** argv) { server(bench::http_service::from_arguments(argc, argv)).run(); }
