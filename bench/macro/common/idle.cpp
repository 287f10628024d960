// SPDX-License-Identifier: BSL-1.0
//
// Connections, messages, and the memory in use as the allocator reports it, which is correct for
// every peer, whichever functions it allocates with.
#include "idle.hpp"

#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

namespace bench {
namespace {

std::size_t memory_in_use() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void check(bool condition, const char* what) {
  if (!condition) fail(what);
}

}  // namespace

idle_crowd::idle_crowd(meter& m, std::size_t connections) : meter_(m) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  near_.reserve(connections);
  far_.reserve(connections);
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const where = reinterpret_cast<sockaddr*>(&address);
  check(::bind(listener, where, length) == 0 && ::listen(listener, 64) == 0 &&
            ::getsockname(listener, where, &length) == 0,
        "idle: a listener");
  for (std::size_t i = 0; i < connections; ++i) {
    const int far = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(far >= 0 && ::connect(far, where, length) == 0, "idle: more descriptors");
    const int near = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    check(near >= 0, "idle: accept");
    const int on = 1;
    ::setsockopt(far, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    near_.push_back(near);
    far_.push_back(far);
  }
}

void idle_crowd::sessions_begin() { memory_before_ = memory_in_use(); }

void idle_crowd::sessions_wait() {
  meter_.note("bytes_per_connection",
              static_cast<double>(memory_in_use() - memory_before_) / static_cast<double>(size()));
}

void idle_crowd::speak() {
  static const char text[message] = {};
  pending_bytes_ = active * message;
  for (std::size_t i = 0; i < active; ++i) {
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    const std::size_t who = static_cast<std::size_t>(random_ >> 33) % far_.size();
    check(::send(far_[who], text, message, MSG_NOSIGNAL) == ssize_t{message}, "idle: send");
  }
}

bool idle_crowd::take(std::size_t bytes) {
  check(bytes != 0 && bytes <= pending_bytes_ && bytes % message == 0,
        "idle: a message is damaged");
  pending_bytes_ -= bytes;
  received_ += bytes / message;
  return pending_bytes_ == 0;
}

}  // namespace bench
