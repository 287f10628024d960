// SPDX-License-Identifier: BSL-1.0
//
// Echo on a bare ring, with one buffer per connection. The receive is a ring entry; the send is
// tried as a system call, and only the bytes that it leaves go to the ring. `--lazy` arms receives
// one turn late (peer raw-uring-lazy); without it they are armed at once (raw-uring).
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "../common/echo.hpp"
#include "arming.hpp"

namespace {

enum class kind : std::uint64_t { accept, receive, send };

constexpr std::uint64_t tag(kind k, std::size_t index) {
  return static_cast<std::uint64_t>(k) << 32 | index;
}

struct connection {
  int fd = -1;
  std::unique_ptr<char[]> buffer;
};

class server {
 public:
  server(bool lazy, const bench::echo_job& job)
      : job_(job), ring_(2048), receives_(ring_, lazy, arm{this}) {}

  [[noreturn]] void serve() {
    accept_next();
    for (;;) {
      receives_.turn();
      ring_.for_each_completion([this](const io_uring_cqe& c) { complete(c); });
    }
  }

 private:
  struct arm {
    server* self;
    void operator()(std::size_t index) const {
      connection& c = self->connections_[index];
      self->ring_.receive(c.fd, c.buffer.get(), self->job_.buffer_size, tag(kind::receive, index));
    }
  };

  void accept_next() {
    ring_.entry(IORING_OP_ACCEPT, job_.listener, tag(kind::accept, 0)).accept_flags = SOCK_CLOEXEC;
  }

  void complete(const io_uring_cqe& c) {
    const std::size_t index = c.user_data & 0xffffffff;
    switch (static_cast<kind>(c.user_data >> 32)) {
      case kind::accept:
        return accepted(c.res);
      case kind::receive:
        return received(index, c.res);
      case kind::send:
        if (c.res < 0) return end(index);
        return receives_.want(index);
    }
  }

  void accepted(int fd) {
    if (fd < 0) {
      errno = -fd;
      bench::fail_errno("accept");
    }
    accept_next();
    bench::set_no_delay(fd);
    connections_.push_back({fd, std::make_unique_for_overwrite<char[]>(job_.buffer_size)});
    receives_.want(connections_.size() - 1);
  }

  void received(std::size_t index, int size) {
    if (size <= 0) return end(index);
    connection& c = connections_[index];
    const std::size_t length = static_cast<std::size_t>(size);
    const ssize_t n = send(c.fd, c.buffer.get(), length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n == size) return receives_.want(index);
    if (n < 0 && errno != EAGAIN) return end(index);
    const std::size_t sent = n < 0 ? 0 : static_cast<std::size_t>(n);
    ring_.send(c.fd, c.buffer.get() + sent, length - sent, tag(kind::send, index));
  }

  void end(std::size_t index) {
    close(connections_[index].fd);
    connections_[index] = {};
  }

  const bench::echo_job& job_;
  raw::ring ring_;
  raw::arming<arm> receives_;
  std::vector<connection> connections_;
};

void serve(const bench::settings& s, const bench::echo_job& job) { server(s.lazy, job).serve(); }

}  // namespace

int main(int argc, char** argv) { return bench::run_echo(argc, argv, serve); }
