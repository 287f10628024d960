// SPDX-License-Identifier: BSL-1.0
// Accepting when there is nothing to accept with (S1), and connections that die before they are
// accepted (S2).
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>

#include <cerrno>
#include <csignal>
#include <deque>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/child.hpp"
#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/context_seam.hpp"
#include "support/faulty_system.hpp"
#include "support/no_descriptors.hpp"

using beck::buffer;
using beck::error_code;
using beck::ip::tcp;
using beck::test::loopback_v4;
using beck::test::no_descriptors;
using beck::test::note;
using beck::test::outcome;
namespace error = beck::error;

namespace {

struct log_lines {
  explicit log_lines(beck::io_context& ctx) {
    ctx.on_log([](const char* line,
                  void* self) { static_cast<log_lines*>(self)->lines.emplace_back(line); },
               this);
  }
  std::vector<std::string> lines;
};

}  // namespace

CONFORMANCE_ON(beck::test::kernel,
               "an acceptor without descriptors pauses, says so once and goes on later") {  // S1
  beck::io_context ctx(context_options());
  const log_lines log(ctx);
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx);
  client.connect(acceptor.local_endpoint());
  tcp::socket server(ctx);
  outcome accepted;
  const std::uint64_t turns = ctx.stats().iterations;
  {
    const no_descriptors nothing_left;
    acceptor.async_accept(server, note(accepted));
    beck::test::tick(ctx, beck::duration(35'000'000));  // several pauses
    CHECK(accepted.calls == 0);
  }
  CHECK(ctx.stats().retries >= 1);
  CHECK(ctx.stats().retries < 20);
  CHECK(ctx.stats().iterations - turns < 500);
  beck::test::run_all(ctx);
  CHECK(accepted.ok());
  CHECK(server.is_open());
  REQUIRE(log.lines.size() == 1);
  CHECK(log.lines[0].find("accept") != std::string::npos);
  CHECK(log.lines[0].find(std::generic_category().message(EMFILE)) != std::string::npos);
}

CONFORMANCE_ON(beck::test::kernel,
               "what is called with the line about a pause may close the acceptor") {  // S1
  for (const int threads : {1, 2}) {
    if (threads == 2 && where == beck::test::on_uring) continue;
    const auto end = beck::test::run_child([threads](int fd) {
      ::signal(SIGALRM, SIG_DFL);
      ::alarm(10);  // with a lock held it would hang
      beck::io_context ctx(context_options({.threads = threads}));
      tcp::acceptor acceptor(ctx, loopback_v4());
      const auto sink = [](const char*, void* data) { static_cast<tcp::acceptor*>(data)->close(); };
      ctx.on_log(sink, &acceptor);
      tcp::socket client(ctx);
      client.connect(acceptor.local_endpoint());
      tcp::socket server(ctx);
      outcome accepted;
      {
        const no_descriptors nothing_left;
        acceptor.async_accept(server, note(accepted));
        ctx.run();
      }
      const bool right = accepted.calls == 1 && accepted.ec == error::operation_aborted;
      if (::write(fd, right ? "ok" : "no", 2) != 2) ::_exit(1);
    });
    CHECK(end.text == "ok");
  }
}

CONFORMANCE_ON(beck::test::kernel,
               "a paused acceptor goes on at once when its context closes a descriptor") {  // S1
  beck::io_context ctx(context_options());
  const log_lines log(ctx);
  tcp::acceptor acceptor(ctx, loopback_v4());
  beck::test::tcp_connection spare(ctx);
  tcp::socket client(ctx);
  client.connect(acceptor.local_endpoint());
  tcp::socket server(ctx);
  outcome accepted;
  const no_descriptors nothing_left;
  acceptor.async_accept(server, note(accepted));
  // Pauses double up to a second: after a few of them only our own close can be the reason.
  beck::test::tick(ctx, beck::duration(35'000'000));
  CHECK(accepted.calls == 0);
  const std::uint64_t retries = ctx.stats().retries;
  spare.client.close();
  beck::test::let_settle(ctx);
  CHECK(accepted.ok());
  CHECK(ctx.stats().retries == retries);
}

CONFORMANCE_ON(beck::test::kernel,
               "a paused accept is cancelled, and so are those behind it") {  // S1
  beck::io_context ctx(context_options());
  const log_lines log(ctx);
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx);
  client.connect(acceptor.local_endpoint());
  outcome ends[3];
  tcp::socket servers[3] = {tcp::socket(ctx), tcp::socket(ctx), tcp::socket(ctx)};
  {
    const no_descriptors nothing_left;
    for (int i = 0; i < 3; ++i) acceptor.async_accept(servers[i], note(ends[i]));
    beck::test::let_settle(ctx);
    for (const outcome& end : ends) CHECK(end.calls == 0);
    acceptor.cancel();
    beck::test::run_all(ctx);
    for (const outcome& end : ends) CHECK(end.aborted());
  }
  outcome accepted;  // the connection still waits
  acceptor.async_accept(servers[0], note(accepted));
  beck::test::run_all(ctx);
  CHECK(accepted.ok());
}

CONFORMANCE_ON(beck::test::kernel,
               "a paused acceptor is closed, and reopened it accepts") {  // S1, S7
  beck::io_context ctx(context_options());
  const log_lines log(ctx);
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx);
  client.connect(acceptor.local_endpoint());
  tcp::socket server(ctx);
  outcome paused;
  {
    const no_descriptors nothing_left;
    acceptor.async_accept(server, note(paused));
    beck::test::let_settle(ctx);
    acceptor.close();
    beck::test::run_all(ctx);
    CHECK(paused.aborted());
  }
  client.close();
  acceptor = tcp::acceptor(ctx, loopback_v4());
  outcome connected;
  outcome accepted;
  acceptor.async_accept(server, note(accepted));
  client.async_connect(acceptor.local_endpoint(), note(connected));
  beck::test::run_all(ctx);
  CHECK(accepted.ok());
}

CONFORMANCE_ON(beck::test::kernel, "a synchronous accept reports what async_accept survives") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx);
  client.connect(acceptor.local_endpoint());
  error_code ec;
  {
    const no_descriptors nothing_left;
    CHECK_FALSE(acceptor.accept(ec).is_open());
    CHECK(ec == error::no_descriptors);
  }
  CHECK(acceptor.accept(ec).is_open());
}

CONFORMANCE_ON(beck::test::kernel, "other sockets work on while an acceptor pauses") {  // S1
  beck::io_context ctx(context_options());
  const log_lines log(ctx);
  tcp::acceptor acceptor(ctx, loopback_v4());
  beck::test::tcp_connection c(ctx);
  tcp::socket client(ctx);
  client.connect(acceptor.local_endpoint());
  tcp::socket server(ctx);
  outcome accepted;
  {
    const no_descriptors nothing_left;
    acceptor.async_accept(server, note(accepted));
    for (int i = 0; i < 50; ++i) {
      outcome sent;
      outcome received;
      char byte = 0;
      async_write(c.client, buffer("i", 1), note(sent));
      async_read(c.server, buffer(&byte, 1), note(received));
      REQUIRE(beck::test::run_until(ctx, [&] { return sent.done() && received.done(); }));
      CHECK(received.ok());
    }
    CHECK(accepted.calls == 0);
  }
  beck::test::run_all(ctx);
  CHECK(accepted.ok());
}

CONFORMANCE_ON(beck::test::kernel,
               "lost connections and pending errors of new ones are skipped by an accept") {  // S2
  beck::io_context ctx(context_options());
  beck::test::faulty_system& system = beck::test::make_faulty(ctx);
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx);
  tcp::socket server(ctx);
  outcome accepted;
  client.connect(acceptor.local_endpoint());
  system.accept_errors = {ECONNABORTED, EPROTO,       ENETDOWN,    ENOPROTOOPT, EHOSTDOWN,
                          ENONET,       EHOSTUNREACH, ENETUNREACH, EPERM,       ECONNABORTED};
  acceptor.async_accept(server, note(accepted));
  beck::test::run_all(ctx);
  CHECK(accepted.ok());
  CHECK(system.accept_errors.empty());
  CHECK(ctx.stats().retries == 10);
}

CONFORMANCE_ON(
    beck::test::kernel,
    "more lost connections than one entry's budget delay an accept and nothing else") {  // S2
  beck::io_context ctx(context_options());
  beck::test::faulty_system& system = beck::test::make_faulty(ctx);
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx);
  tcp::socket server(ctx);
  outcome accepted;
  client.connect(acceptor.local_endpoint());
  system.accept_errors.assign(1000, ECONNABORTED);
  acceptor.async_accept(server, note(accepted));
  bool between = false;
  beck::post(ctx, [&] { beck::post(ctx, [&] { between = !system.accept_errors.empty(); }); });
  beck::test::run_all(ctx);
  CHECK(between);
  CHECK(accepted.ok());
}

CONFORMANCE_ON(beck::test::kernel,
               "a lack of memory pauses an acceptor as a lack of descriptors does") {  // S1
  for (const int reason : {ENFILE, ENOMEM, ENOBUFS}) {
    beck::io_context ctx(context_options());
    const log_lines log(ctx);
    beck::test::faulty_system& system = beck::test::make_faulty(ctx);
    tcp::acceptor acceptor(ctx, loopback_v4());
    tcp::socket client(ctx);
    tcp::socket server(ctx);
    outcome accepted;
    client.connect(acceptor.local_endpoint());
    system.accept_errors = {reason, reason};
    acceptor.async_accept(server, note(accepted));
    beck::test::run_all(ctx);
    CHECK(accepted.ok());
    CHECK(ctx.stats().retries == 2);
    CHECK(log.lines.size() == 1);
  }
}

CONFORMANCE_ON(beck::test::kernel, "an accept error that is the acceptor's own is reported") {
  beck::io_context ctx(context_options());
  beck::test::faulty_system& system = beck::test::make_faulty(ctx);
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx);
  tcp::socket server(ctx);
  outcome accepted;
  client.connect(acceptor.local_endpoint());
  system.accept_errors = {EINVAL};
  acceptor.async_accept(server, note(accepted));
  beck::test::run_all(ctx);
  CHECK(accepted.ended_with(error::invalid_argument));
}

CONFORMANCE_ON(beck::test::kernel, "an accept on a socket that cannot accept says so") {  // S2
  for (const int threads : {1, 2}) {
    if (threads == 2 && where != beck::test::on_epoll) continue;
    beck::io_context ctx(context_options({.threads = threads}));
    tcp::acceptor acceptor(ctx, tcp::v4(), ::socket(AF_INET, SOCK_DGRAM, 0));
    tcp::socket server(ctx);
    outcome accepted;
    acceptor.async_accept(server, note(accepted));
    ctx.run_for(beck::duration(2'000'000'000));
    CHECK(accepted.ended_with(error::operation_not_supported));
    CHECK(ctx.stats().retries == 0);
    error_code ec;
    acceptor.accept(ec);
    CHECK(ec == error::operation_not_supported);
  }
}

CONFORMANCE_ON(beck::test::kernel,
               "an acceptor that finds nothing but lost connections pauses, and goes on") {  // S2
  for (const int threads : {1, 2}) {
    if (threads == 2 && where != beck::test::on_epoll) continue;
    beck::io_context ctx(context_options({.threads = threads}));
    const log_lines log(ctx);
    beck::test::faulty_system& system = beck::test::make_faulty(ctx);
    tcp::acceptor acceptor(ctx, loopback_v4());
    tcp::socket client(ctx);
    tcp::socket server(ctx);
    outcome accepted;
    client.connect(acceptor.local_endpoint());
    system.accept_errors.assign(300, EPROTO);  // as from a filter that refuses the call
    acceptor.async_accept(server, note(accepted));
    beck::test::run_all(ctx);
    CHECK(accepted.ok());
    CHECK(log.lines.size() == 1);
    CHECK(ctx.stats().attempts <= 310);
  }
}

CONFORMANCE_ON(beck::test::kernel,
               "lacks that come and go have a line a second in the log") {  // S1
  beck::io_context ctx(context_options());
  const log_lines log(ctx);
  beck::test::faulty_system& system = beck::test::make_faulty(ctx);
  system.clock_ns = system.now();
  tcp::acceptor acceptor(ctx, loopback_v4());
  const auto lack = [&] {
    tcp::socket client(ctx);
    tcp::socket server(ctx);
    outcome accepted;
    client.connect(acceptor.local_endpoint());
    system.accept_errors = {EMFILE};
    acceptor.async_accept(server, note(accepted));
    beck::test::let_settle(ctx);
    CHECK(accepted.calls == 0);
    system.clock_ns += 10'000'000;  // the pause
    beck::test::let_settle(ctx);
    CHECK(accepted.ok());
  };
  for (int i = 0; i < 90; ++i) lack();
  CHECK(log.lines.size() == 1);
  system.clock_ns += 100'000'000;
  lack();
  CHECK(log.lines.size() == 2);
}

CONFORMANCE_ON(beck::test::kernel,
               "lost connections between accepted ones never add up to a pause") {  // S2
  beck::io_context ctx(context_options());
  const log_lines log(ctx);
  beck::test::faulty_system& system = beck::test::make_faulty(ctx);
  tcp::acceptor acceptor(ctx, loopback_v4());
  for (int i = 0; i < 3; ++i) {
    tcp::socket client(ctx);
    tcp::socket server(ctx);
    outcome accepted;
    client.connect(acceptor.local_endpoint());
    system.accept_errors.assign(40, ECONNABORTED);
    acceptor.async_accept(server, note(accepted));
    beck::test::run_all(ctx);
    CHECK(accepted.ok());
  }
  CHECK(log.lines.empty());
}
