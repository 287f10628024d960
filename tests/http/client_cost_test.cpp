// SPDX-License-Identifier: BSL-1.0
// The cost of a call over a connection that is kept, in system calls and allocations, counted on
// the real kernel. The server is a socket of this thread, so everything counted is the client's.
#include <beck/http/client.hpp>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "http/client_site.hpp"
#include "http/counting_system.hpp"
#include "support/allocations.hpp"
#include "support/conformance.hpp"
#include "support/context_seam.hpp"

using beck::task;
namespace http = beck::http;

namespace {

/// A listening socket of this thread, and one connection of it.
class plain_server {
 public:
  plain_server() : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof at;
    REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&at), bytes) == 0);
    REQUIRE(::listen(listener_, 10) == 0);
    REQUIRE(::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &bytes) == 0);
    port = ntohs(at.sin_port);
  }
  ~plain_server() {
    ::close(listener_);
    if (fd >= 0) ::close(fd);
  }
  void accept() { fd = ::accept(listener_, nullptr, nullptr); }

  int port = 0;
  int fd = -1;

 private:
  int listener_;
};

/// Makes `rounds` calls one after the other.
task<> call_often(http::client& web, std::string url, std::string body, int rounds, int& done) {
  char part[16384];
  const beck::mutable_buffer room(part, sizeof part);
  for (int i = 0; i < rounds; ++i) {
    http::call c(web, body.empty() ? http::method::get : http::method::post, url);
    c.set(http::field::accept, "text/plain");
    const beck::const_buffer rows(body.data(), body.size());
    auto got = body.empty() ? c.async_finish() : c.async_finish(rows);
    auto answered = co_await std::move(got);
    CHECK(!answered.error());
    if (answered.error()) co_return;
    const http::client_response r = std::move(answered).value();
    std::size_t bytes = 0;
    while (!r.body().is_whole()) {
      auto read = co_await r.body().async_read_some(room);
      CHECK(!read.error());
      if (read.error()) co_return;
      bytes += read.value_;
    }
    CHECK(bytes == r.head().content_length());
    ++done;
  }
}

/// Counts calls whose response has a body of `bytes` bytes, which takes `receives` receives.
void check_calls(const std::string& body, std::size_t bytes, int receives) {
  http::test::call_counts calls;
  plain_server server;
  beck::io_context ctx(context_options());
  beck::testing::context_seam::replace_system(ctx,
                                              std::make_unique<http::test::counting_system>(calls));
  http::client web(ctx);
  const std::string answer = http::test::ok(std::string(bytes, 'x'));
  const std::string url = "http://127.0.0.1:" + std::to_string(server.port) + "/a/long/path";
  constexpr int rounds = 100;
  for (const bool warm : {false, true}) {
    int done = 0;
    co_spawn(ctx, call_often(web, url, body, rounds, done), beck::detached);
    const http::test::call_counts before = calls;
    const std::uint64_t allocations = beck::test::allocations();
    char part[4096];
    while (done < rounds) {
      if (server.fd < 0 && web.stats().made != 0) server.accept();
      if (::recv(server.fd, part, sizeof part, MSG_DONTWAIT) > 0) {
        REQUIRE(::send(server.fd, answer.data(), answer.size(), 0) > 0);
      }
      ctx.poll_one();
    }
    const std::uint64_t allocated = beck::test::allocations() - allocations;
    if (!warm) continue;
    CHECK(calls.sends - before.sends == rounds);
    CHECK(calls.receives - before.receives == receives * rounds);
    CHECK(calls.empty_receives == before.empty_receives);
    if (beck::test::counts_allocations()) CHECK(allocated == 0);
  }
  CHECK(web.stats().made == 1);
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel,
               "http client: a call is one send and one receive, and allocates nothing") {
  check_calls("", 1024, 1);
  check_calls("a body that is given whole", 1024, 1);
}

CONFORMANCE_ON(beck::test::kernel,
               "http client: a long body is received into the reader's buffer") {
  check_calls("", 65'536, 5);  // the first 4 KiB with the head, the rest 16 KiB at a time
}
