// SPDX-License-Identifier: BSL-1.0
// Runs one script of system calls on Linux and on the simulated network: what the simulator claims
// about Linux is checked against Linux.
#pragma once

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include <beck/detail/vector_operation.hpp>

#include "io/sim/sim_system.hpp"
#include "io/system/posix_system.hpp"

namespace beck::test {
using namespace detail;

/// One kernel, with short names for the calls of a script.
class kernel_calls {
 public:
  explicit kernel_calls(system& sys) : sys_(sys) {
    REQUIRE(sys_.open_pair(AF_UNIX, SOCK_STREAM, 0, quiet_) == 0);
  }
  ~kernel_calls() {
    sys_.close(quiet_[0]);
    sys_.close(quiet_[1]);
  }
  kernel_calls(const kernel_calls&) = delete;
  kernel_calls& operator=(const kernel_calls&) = delete;

  system& sys() const { return sys_; }
  int tcp(int family = AF_INET) const { return sys_.open_socket(family, SOCK_STREAM, 0); }
  int local() const { return sys_.open_socket(AF_UNIX, SOCK_STREAM, 0); }

  static sockaddr_in v4(unsigned port, std::uint32_t address = INADDR_LOOPBACK) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(static_cast<std::uint16_t>(port));
    in.sin_addr.s_addr = htonl(address);
    return in;
  }
  static sockaddr_in6 v6(unsigned port, const in6_addr& address) {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(static_cast<std::uint16_t>(port));
    in.sin6_addr = address;
    return in;
  }

  template <class Address>
  int bind(int fd, const Address& address) const {
    return sys_.bind(fd, &address, sizeof address);
  }
  template <class Address>
  int connect(int fd, const Address& address) const {
    return sys_.connect(fd, &address, sizeof address);
  }
  int bind_path(int fd, const std::string& path) const {
    return with_path(&system::bind, fd, path);
  }
  int connect_path(int fd, const std::string& path) const {
    return with_path(&system::connect, fd, path);
  }

  /// A listener on the loopback address and a port of the kernel's choice.
  int listener(int backlog = 8) const {
    const int fd = tcp();
    REQUIRE(bind(fd, v4(0)) == 0);
    REQUIRE(sys_.listen(fd, backlog) == 0);
    return fd;
  }
  unsigned port(int fd) const {
    sockaddr_in in{};
    std::size_t bytes = sizeof in;
    REQUIRE(sys_.local_name(fd, &in, bytes) == 0);
    return ntohs(in.sin_port);
  }

  /// Events of poll(2), waiting for one of `events` (error and hang-up count always).
  int wait(int fd, unsigned events) const {
    return sys_.poll(fd, events, sys_.now() + 5'000'000'000);
  }
  int levels(int fd) const { return sys_.poll(fd, all, INT64_MIN); }
  /// Waits until poll(2) says exactly this, for what takes a while to arrive.
  void settle(int fd, int wanted) const {
    for (int i = 0; i < 2000 && levels(fd) != wanted; ++i) pass();
    CHECK(levels(fd) == wanted);
  }

  void settle_bytes(int fd, int wanted) const {
    for (int i = 0; i < 2000 && sys_.available(fd) != wanted; ++i) pass();
    CHECK(sys_.available(fd) == wanted);
  }
  /// Lets a millisecond pass.
  void pass() const { sys_.poll(quiet_[0], poll_in, sys_.now() + 1'000'000); }

  struct connection {
    int listener, client, server;
  };
  connection connected() const {
    connection c{listener(), tcp(), -1};
    REQUIRE(connect(c.client, v4(port(c.listener))) == -EINPROGRESS);
    REQUIRE(wait(c.client, poll_out) == poll_out);
    REQUIRE(wait(c.listener, poll_in) == poll_in);
    std::size_t none = 0;
    c.server = sys_.accept(c.listener, nullptr, none);
    REQUIRE(c.server >= 0);
    return c;
  }
  void close(const connection& c) const {
    sys_.close(c.client);
    sys_.close(c.server);
    sys_.close(c.listener);
  }

  std::ptrdiff_t send(int fd, const std::string& text) const {
    return sys_.send(fd, text.data(), text.size());
  }
  /// What one receive gives now: its text, "eof", or the errno's name.
  std::string receive_now(int fd, std::size_t most = 64) const {
    std::string text(most, '\0');
    const std::ptrdiff_t n = sys_.receive(fd, text.data(), most);
    if (n < 0) return errno_name(static_cast<int>(n));
    if (n == 0) return "eof";
    text.resize(static_cast<std::size_t>(n));
    return text;
  }
  /// Waits for something to receive.
  std::string receive(int fd) const {
    static_cast<void>(wait(fd, poll_in));
    return receive_now(fd);
  }
  /// Receives until there are that many bytes, or an end.
  std::string receive(int fd, std::size_t bytes) const {
    std::string text;
    while (text.size() < bytes) {
      static_cast<void>(wait(fd, poll_in));
      const std::string part = receive_now(fd, bytes - text.size());
      text += part;
      if (part == "eof" || part.front() == 'E') break;
    }
    return text;
  }

  static std::string errno_name(int result) { return strerrorname_np(-result); }
  static constexpr unsigned all = poll_in | poll_out | poll_priority | poll_read_hang_up;

 private:
  int with_path(int (system::*call)(int, const void*, std::size_t) noexcept, int fd,
                const std::string& path) const {
    sockaddr_un un{};
    un.sun_family = AF_UNIX;
    REQUIRE(path.size() < sizeof un.sun_path);
    path.copy(un.sun_path, sizeof un.sun_path - 1);
    const bool is_path = !path.empty() && path[0] != '\0';
    return (sys_.*call)(fd, &un, offsetof(sockaddr_un, sun_path) + path.size() + (is_path ? 1 : 0));
  }

  system& sys_;
  int quiet_[2];  // nobody writes to it
};

/// Runs `script(kernel_calls)` on Linux, then on simulated networks with some seeds.
template <class Script>
void on_both(Script script) {
  {
    INFO("on Linux");
    posix_system real;
    script(kernel_calls(real));
  }
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("on the simulated network, seed ", seed);
    sim_system simulated(std::make_unique<sim_world>(seed, sim_profile()));
    script(kernel_calls(simulated));
  }
}

}  // namespace beck::test
