// SPDX-License-Identifier: BSL-1.0
//
// What a TCP connection costs that waits in async_receive(): bytes that were asked of operator new
// for its socket, its slot in the context and its operation, with the share of what is kept for
// others. As many connections as the limit on descriptors allows, at most 10,000; both ends are in
// this process, but only one of each is the library's.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/buffer_lease.hpp>
#include <beck/net/tcp.hpp>
#include <beck/testing/memory.hpp>
#include <cstddef>
#include <memory>
#include <vector>

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/sanitizers.hpp"
#include "support/allocations.hpp"
#include "support/context_options.hpp"

using beck::test::allocated_bytes;
using beck::test::kernel;

namespace {

constexpr std::size_t connections_max = 10'000;
constexpr std::size_t descriptors_for_others = 200;

class connections {
 public:
  connections() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit most = before_;
    most.rlim_cur = most.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &most);
    std::size_t count = (most.rlim_cur - descriptors_for_others) / 2;
    if (count > connections_max) count = connections_max;
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const where = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(listener, where, length) == 0);
    REQUIRE(::listen(listener, 64) == 0);
    ::getsockname(listener, where, &length);
    while (near.size() < count) {
      far_.push_back(::socket(AF_INET, SOCK_STREAM, 0));
      REQUIRE(::connect(far_.back(), where, length) == 0);
      near.push_back(::accept(listener, nullptr, nullptr));
      REQUIRE(near.back() >= 0);
    }
    ::close(listener);
  }
  ~connections() {
    for (const int fd : far_) ::close(fd);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  connections(const connections&) = delete;
  connections& operator=(const connections&) = delete;

  std::vector<int> near;

 private:
  std::vector<int> far_;
  rlimit before_{};
};

/// A session as a class: it receives with itself as the handler's target.
struct session {
  session(beck::io_context& ctx, int fd) : socket(ctx) { socket.assign(beck::ip::tcp::v4(), fd); }
  void receive() {
    beck::async_receive(socket, [this](beck::error_code ec, beck::buffer_lease) {
      if (!ec) receive();
    });
  }

  beck::ip::tcp::socket socket;
};

beck::task<> receive_for_ever(beck::ip::tcp::socket socket) {
  for (;;) {
    auto r = co_await beck::async_receive(socket);
    if (!r) co_return;
  }
}

template <class Start>
std::size_t bytes_for_each(Start start) {
  connections all;
  beck::testing::watched_memory no_recycled_blocks;
  beck::io_context ctx(context_options());
  std::vector<std::unique_ptr<session>> sessions;
  sessions.reserve(all.near.size());
  ctx.poll();
  ctx.restart();
  const auto before = allocated_bytes();
  for (const int fd : all.near) start(ctx, sessions, fd);
  ctx.poll();
  const auto bytes = (allocated_bytes() - before) / all.near.size();
  CHECK(ctx.stats().leases == 0);
  CHECK(ctx.stats().outstanding >= all.near.size());
  MESSAGE(all.near.size() << " connections, " << bytes << " bytes each");
  return bytes;
}

}  // namespace

CONFORMANCE_ON(kernel,
               "a connection that waits for a lease with a callback takes 640 bytes (P11)") {
  if (beck::detail::address_sanitizer || !beck::test::counts_allocations())
    SKIP_CASE("a sanitizer brings its own operator new");
  const auto bytes = bytes_for_each([](beck::io_context& ctx, auto& sessions, int fd) {
    sessions.push_back(std::make_unique<session>(ctx, fd));
    sessions.back()->receive();
  });
  CHECK(bytes <= 640);
}

CONFORMANCE_ON(kernel, "a connection that waits for a lease in a coroutine takes 960 bytes") {
  if (beck::detail::address_sanitizer || !beck::test::counts_allocations())
    SKIP_CASE("a sanitizer brings its own operator new");
  const auto bytes = bytes_for_each([](beck::io_context& ctx, auto&, int fd) {
    beck::ip::tcp::socket socket(ctx);
    socket.assign(beck::ip::tcp::v4(), fd);
    beck::co_spawn(ctx, receive_for_ever(std::move(socket)), beck::detached);
  });
  CHECK(bytes <= 960);
}
