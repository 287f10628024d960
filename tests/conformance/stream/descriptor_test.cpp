// SPDX-License-Identifier: BSL-1.0
// What only a real kernel shows: descriptors that are inherited, duplicated, given to exec or
// leaked, and the signal that sockets must not raise.
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>

#include <atomic>
#include <csignal>
#include <cstring>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/open_descriptors.hpp"
#include "support/scale.hpp"

using beck::buffer;
using beck::error_code;
using beck::ip::tcp;
using beck::test::local_connection;
using beck::test::loopback_v4;
using beck::test::note;
using beck::test::open_descriptors;
using beck::test::outcome;
using beck::test::tcp_connection;
using local_stream = beck::local::stream_protocol;
namespace error = beck::error;

namespace {

volatile std::sig_atomic_t pipe_signals = 0;

/// Counts SIGPIPE while it exists.
class pipe_signal_counter {
 public:
  pipe_signal_counter() {
    pipe_signals = 0;
    struct sigaction counting = {};
    counting.sa_handler = [](int) { pipe_signals = pipe_signals + 1; };
    ::sigaction(SIGPIPE, &counting, &before_);
  }
  ~pipe_signal_counter() { ::sigaction(SIGPIPE, &before_, nullptr); }
  pipe_signal_counter(const pipe_signal_counter&) = delete;
  pipe_signal_counter& operator=(const pipe_signal_counter&) = delete;

 private:
  struct sigaction before_ = {};
};

}  // namespace

CONFORMANCE_ON(beck::test::kernel, "every descriptor that the library makes is close-on-exec") {
  const std::set<int> before = open_descriptors();
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  local_connection l(ctx);
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket opened(ctx, tcp::v6());
  outcome waiting;
  char byte = 0;
  c.client.async_read_some(buffer(&byte, 1), note(waiting));
  beck::test::let_settle(ctx);
  int ours = 0;
  for (const int fd : open_descriptors()) {
    if (before.contains(fd)) continue;
    ++ours;
    INFO("descriptor ", fd);
    CHECK(beck::test::closes_on_exec(fd));
  }
  CHECK(ours >= 6 + 2);  // the sockets, the driver's own and its wake descriptor
}

CONFORMANCE_ON(beck::test::kernel,
               "a context that ends with everything in flight leaves no descriptor open") {
  const std::set<int> before = open_descriptors();
  {
    beck::io_context ctx(context_options());
    tcp_connection c(ctx);
    local_connection l(ctx);
    tcp::acceptor acceptor(ctx, loopback_v4());
    outcome all[5];
    std::vector<char> room(70000);
    const std::string data(16 << 20, 'f');
    tcp::socket peer(ctx);
    c.client.async_read_some(buffer(room), note(all[0]));
    async_write(c.server, buffer(data), note(all[1]));
    l.a.async_read_some(buffer(room), note(all[2]));
    l.a.async_wait(local_stream::socket::wait_error, note(all[3]));
    acceptor.async_accept(peer, note(all[4]));
    beck::test::let_settle(ctx);
  }
  CHECK(open_descriptors() == before);
}

CONFORMANCE_ON(beck::test::kernel,
               "a connection whose accept nobody delivers is closed with the context") {
  const std::set<int> before = open_descriptors();
  {
    beck::io_context server(context_options());
    tcp::acceptor acceptor(server, loopback_v4());
    beck::io_context client_context(context_options());
    tcp::socket client(client_context);
    client.connect(acceptor.local_endpoint());
    outcome accepted;
    beck::post(server, [&] {
      acceptor.async_accept([&](const error_code& ec, const tcp::socket&) { note{accepted}(ec); });
      server.stop();  // the completion is queued and stays there
    });
    server.run();
    CHECK(accepted.calls == 0);
  }
  CHECK(open_descriptors() == before);
}

CONFORMANCE_ON(beck::test::kernel, "a write to a peer that is gone never raises SIGPIPE") {
  const pipe_signal_counter counter;
  beck::io_context ctx(context_options());
  const std::string big(4 << 20, 'p');
  const std::string half = big.substr(big.size() / 2);
  for (int kind = 0; kind < 5; ++kind) {
    local_connection c(ctx);
    outcome sent;
    error_code ec;
    const beck::const_buffer parts[2] = {buffer(half), buffer(half)};
    if (kind == 4) {  // in the kernel, or waiting for room, when the peer goes
      async_write(c.a, buffer(big), note(sent));
      beck::test::let_settle(ctx);
      CHECK(sent.calls == 0);
    }
    c.b.close();
    if (kind == 0) c.a.async_write_some(buffer("1", 1), note(sent));
    if (kind == 1) c.a.async_write_some(parts, note(sent));
    if (kind == 2) async_write(c.a, parts, note(sent));
    if (kind == 3) c.a.write_some(buffer("1", 1), ec), note{sent}(ec);
    beck::test::run_all(ctx);
    CHECK(sent.calls == 1);
    CHECK((sent.ec == error::broken_pipe || sent.ec == error::connection_reset));
  }
  CHECK(pipe_signals == 0);
}

CONFORMANCE_ON(beck::test::kernel,
               "an inherited blocking descriptor is adopted, made non-blocking and close-on-exec") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  beck::io_context ctx(context_options());
  local_stream::socket a(ctx, local_stream(), ends[0]);
  local_stream::socket b(ctx);
  b.assign(local_stream(), ends[1]);
  CHECK(a.native_handle() == ends[0]);
  CHECK(beck::test::closes_on_exec(ends[0]));
  CHECK((::fcntl(ends[0], F_GETFL) & O_NONBLOCK) != 0);
  outcome received;
  outcome sent;
  char got[6] = {};
  async_read(a, buffer(got), note(received));
  beck::test::let_settle(ctx);
  async_write(b, buffer("legacy", 6), note(sent));
  beck::test::run_all(ctx);
  CHECK(received.ok());
  CHECK(std::memcmp(got, "legacy", 6) == 0);
}

CONFORMANCE_ON(beck::test::kernel, "a listening descriptor made elsewhere is an acceptor") {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  REQUIRE(fd >= 0);
  const tcp::endpoint any = loopback_v4();
  REQUIRE(::bind(fd, static_cast<const sockaddr*>(any.data()),
                 static_cast<socklen_t>(any.size())) == 0);
  REQUIRE(::listen(fd, 8) == 0);
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, tcp::v4(), fd);
  tcp::socket client(ctx);
  tcp::socket server(ctx);
  outcome accepted;
  outcome connected;
  acceptor.async_accept(server, note(accepted));
  client.async_connect(acceptor.local_endpoint(), note(connected));
  beck::test::run_all(ctx);
  CHECK(accepted.ok());
  CHECK(connected.ok());
}

CONFORMANCE_ON(beck::test::kernel, "a released descriptor goes on in another context") {
  beck::io_context first(context_options());
  beck::io_context second(context_options());
  local_connection c(first);
  outcome aborted;
  char byte = 0;
  c.a.async_read_some(buffer(&byte, 1), note(aborted));
  beck::test::let_settle(first);
  local_stream::socket moved(second, local_stream(), c.a.release());
  beck::test::run_all(first);
  CHECK(aborted.aborted());
  outcome received;
  moved.async_read_some(buffer(&byte, 1), note(received));
  beck::test::let_settle(second);
  CHECK(c.b.write_some(buffer("2", 1)) == 1);
  beck::test::run_all(second);
  CHECK(received.ok());
  CHECK(byte == '2');
}

CONFORMANCE_ON(beck::test::kernel,
               "closing one of two descriptors of a connection does not end it") {  // S5
  beck::io_context ctx(context_options());
  for (const std::size_t room : {64u, 65536u}) {
    tcp_connection c(ctx);
    std::vector<char> data(room);
    outcome pending;
    c.server.async_read_some(buffer(data), note(pending));
    beck::test::let_settle(ctx);
    const int copy = ::dup(c.server.native_handle());
    c.server.close();
    beck::test::run_all(ctx);
    CHECK(pending.aborted());

    error_code ec;
    char byte = 0;
    c.client.non_blocking(true);
    c.client.read_some(buffer(&byte, 1), ec);
    CHECK(ec == error::would_block);  // no shutdown was sent
    tcp::socket other(ctx, tcp::v4(), copy);
    outcome received;
    outcome sent;
    other.async_read_some(buffer(data), note(received));
    async_write(c.client, buffer("alive", 5), note(sent));
    beck::test::run_all(ctx);
    CHECK(received.ok());
    CHECK(received.bytes == 5);
  }
}

CONFORMANCE_ON(beck::test::kernel,
               "events of a closed socket that lives on in a duplicate reach no operation") {  // S7
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  std::vector<char> room(65536);
  outcome pending;
  c.a.async_read_some(buffer(room), note(pending));  // the driver watches the number
  beck::test::let_settle(ctx);
  const int copy = ::dup(c.a.native_handle());
  const int number = c.a.native_handle();
  c.a.close();
  beck::test::run_all(ctx);
  CHECK(pending.aborted());
  local_stream::socket peer(ctx);
  connect_pair(c.a, peer);  // the same object, the same number, another socket
  CHECK((c.a.native_handle() == number || peer.native_handle() == number));
  outcome received;
  c.a.async_read_some(buffer(room), note(received));
  beck::test::let_settle(ctx);
  const auto before = ctx.stats();
  CHECK(c.b.write_some(buffer("old", 3)) == 3);
  beck::test::tick(ctx);
  beck::test::let_settle(ctx);
  CHECK(received.calls == 0);
  CHECK(ctx.stats().attempts == before.attempts);  // nor was it taken for news of the new socket
  CHECK(peer.write_some(buffer("new", 3)) == 3);
  beck::test::run_all(ctx);
  CHECK(received.ok());
  CHECK(std::memcmp(room.data(), "new", 3) == 0);
  ::close(copy);
}

CONFORMANCE_ON(
    beck::test::kernel,
    "a stream of closes from another thread ends every read, and every number is free again") {
  beck::io_context ctx(context_options());
  const std::set<int> before = open_descriptors();
  beck::executor_work_guard work(ctx.get_executor());
  std::thread loop([&ctx] { ctx.run(); });
  constexpr std::size_t pairs = 40;
  std::vector<outcome> ends(pairs);
  std::vector<char> bytes(pairs);
  {
    std::vector<std::unique_ptr<local_connection>> connections;
    for (std::size_t i = 0; i < pairs; ++i) {
      connections.push_back(std::make_unique<local_connection>(ctx));
      connections[i]->a.async_read_some(buffer(&bytes[i], 1), note(ends[i]));
    }
    for (std::size_t i = 0; i < pairs; i += 2) connections[i]->a.close();
  }  // and the rest is destroyed
  work.reset();
  loop.join();
  for (const outcome& end : ends) CHECK((end.aborted() || end.ended_with(error::eof)));
  CHECK(open_descriptors() == before);
}

CONFORMANCE("reads into several buffers that are filled again and again go on") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  char bytes[4] = {};
  const std::vector<beck::mutable_buffer> parts{buffer(bytes, 2), buffer(bytes + 2, 2)};
  for (int i = 0; i < 20; ++i) {
    outcome received;
    outcome sent;
    c.a.async_read_some(parts, note(received));
    beck::test::let_settle(ctx);
    async_write(c.b, buffer("full", 4), note(sent));
    beck::test::run_all(ctx);
    CHECK(sent.ok());
    CHECK(received.ok());
    std::size_t rest = 0;
    beck::test::drain(ctx, c.a, rest);
    CHECK(received.bytes + rest == 4);
  }
}

CONFORMANCE_ON(beck::test::kernel,
               "memory that is not there gives fault, and the stream lives on") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  void* const nowhere = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(nowhere != MAP_FAILED);
  for (const std::size_t room : {1u, 4096u}) {
    outcome received;
    c.a.async_read_some(buffer(nowhere, room), note(received));
    beck::test::let_settle(ctx);
    CHECK(c.b.write_some(buffer("f", 1)) == 1);
    beck::test::run_all(ctx);
    CHECK(received.ended_with(error::fault));
  }
  outcome sent;
  beck::test::fill(c.a);
  c.a.async_write_some(beck::const_buffer(nowhere, 4096), note(sent));
  beck::test::let_settle(ctx);
  std::size_t bytes = 0;
  beck::test::drain(ctx, c.b, bytes);
  beck::test::run_all(ctx);
  CHECK(sent.ended_with(error::fault));
  ::munmap(nowhere, 4096);
}

CONFORMANCE_ON(
    beck::test::kernel,
    "a run that begins while another thread closes, cancels and sets timers is no second run") {
  beck::io_context ctx(context_options());
  std::atomic<bool> over{false};
  std::thread other([&] {
    beck::steady_timer timer(ctx);
    for (int i = 0; i < beck::test::scaled(5000); ++i) {
      local_connection c(ctx);
      timer.expires_after(beck::duration(1'000'000'000));
      c.a.cancel();
      timer.cancel();
    }
    over = true;
  });
  int refused = 0;
  while (!over) {
    ctx.restart();
    try {
      ctx.poll();
    } catch (const std::logic_error&) {
      ++refused;
    }
  }
  other.join();
  CHECK(refused == 0);
}
