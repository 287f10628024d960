// SPDX-License-Identifier: BSL-1.0
// Where a server listens besides ports: paths, with files that others have left, and sockets that
// are inherited.
#include <beck/http/server.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_pool.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/local.hpp>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "http/served.hpp"
#include "http/server/listener.hpp"
#include "support/child.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
using beck::error_code;
using local = beck::local::stream_protocol;
namespace http = beck::http;
namespace ip = beck::ip;

namespace {

/// A path that nothing has.
struct scratch_path {
  explicit scratch_path(const char* name)
      : text("/tmp/beck-http-" + std::to_string(::getpid()) + "-" + name) {
    ::unlink(text.c_str());
  }
  ~scratch_path() { ::unlink(text.c_str()); }
  bool exists() const {
    struct stat facts;
    return ::lstat(text.c_str(), &facts) == 0;
  }
  std::string text;
};

/// A server on a path.
struct on_path {
  template <class Handler>
  on_path(const local::endpoint& at, Handler handler) : ctx(context_options()), server(handler) {
    server.listen(at);
    server.serve().start(ctx, [this](std::exception_ptr error) {
      ended = true;
      failed = std::move(error);
    });
    for (int i = 0; i < 20; ++i) ctx.poll();
  }
  std::string ask(const local::endpoint& at, const std::string& text) {
    local::socket socket(ctx);
    std::string received(4096, ' ');
    std::size_t bytes = 0;
    bool done = false;
    socket.async_connect(at, [](error_code) {});
    beck::async_write(socket, beck::buffer(text), [](error_code, std::size_t) {});
    beck::async_read(socket, beck::buffer(received), [&](error_code, std::size_t n) {
      bytes = n;
      done = true;
    });
    while (!done) {
      ctx.restart();
      REQUIRE(ctx.run_one() != 0);
    }
    received.resize(bytes);
    return received;
  }
  void stop() {
    server.stop();
    while (!ended) {
      ctx.restart();
      REQUIRE(ctx.run_one() != 0);
    }
  }

  beck::io_context ctx;
  http::server server;
  bool ended = false;
  std::exception_ptr failed;
};

void say_peer(http::request& q, http::response& r) {
  const auto peer = q.peer().to_text();
  const auto client = q.client_address().to_string();
  r.send(std::string(peer.data(), peer.size()) + ' ' + std::string(client.data(), client.size()));
}

/// Returns what a blocking client gets from a descriptor that is connected.
std::string ask_blocking(int fd) {
  const std::string text = last_get("/blocking");
  std::string received;
  if (::send(fd, text.data(), text.size(), MSG_NOSIGNAL) < 0) return {};
  char part[4096];
  for (;;) {
    const ssize_t n = ::recv(fd, part, sizeof part, 0);
    if (n <= 0) return received;
    received.append(part, static_cast<std::size_t>(n));
  }
}

std::string ask_path(const local::endpoint& at) {
  const beck::unique_fd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
  const auto* const to = static_cast<const sockaddr*>(at.data());
  if (::connect(fd.get(), to, static_cast<socklen_t>(at.size())) != 0) return {};
  return ask_blocking(fd.get());
}

}  // namespace

CONFORMANCE("http: a server listens on a path, and removes its file at the end") {
  const scratch_path path("listen");
  const local::endpoint at(path.text);
  on_path s(at, say_peer);
  s.server.behind_proxy("unix");
  const bool files = where != beck::backend::sim;
  CHECK(path.exists() == files);
  auto all = responses_in(s.ask(at, last_get("/")));
  REQUIRE(all.size() == 1);
  CHECK(all[0].body == "0.0.0.0:0 0.0.0.0");
  all = responses_in(s.ask(at, get("/", "Connection: close\r\nX-Forwarded-For: 1.2.3.4\r\n")));
  CHECK(all.at(0).body == "0.0.0.0:0 1.2.3.4");
  CHECK(s.server.stats().accepted == 2);
  s.stop();
  CHECK(!path.exists());
  CHECK(!s.failed);
}

CONFORMANCE("http: a server listens on an abstract name") {
  const std::string name = std::string(1, '\0') + "beck-http-" + std::to_string(::getpid());
  const local::endpoint at(name);
  on_path s(at, say_path);
  CHECK(responses_in(s.ask(at, last_get("/a"))).at(0).body == "/a");
}

CONFORMANCE_ON(beck::test::kernel, "http: only a socket file without a listener is replaced") {
  const scratch_path path("stale");
  const local::endpoint at(path.text);
  {
    beck::io_context ctx(context_options());
    local::acceptor leaves(ctx, at, false);  // and its file
  }
  REQUIRE(path.exists());
  on_path first(at, say_path);
  CHECK(!first.failed);
  on_path second(at, say_path);
  REQUIRE(second.ended);
  try {
    std::rethrow_exception(second.failed);
  } catch (const beck::io_error& failed) {
    CHECK(failed.code() == std::errc::address_in_use);
    CHECK(has(failed.what(), path.text));
  }
  CHECK(responses_in(first.ask(at, last_get("/still"))).at(0).body == "/still");
  ::unlink(path.text.c_str());
  on_path third(at, say_path);  // has taken the place of the first one
  first.stop();
  CHECK(path.exists());
  third.stop();
  CHECK(!path.exists());
  std::fclose(std::fopen(path.text.c_str(), "w"));
  on_path fourth(at, say_path);
  CHECK(fourth.failed);
  CHECK(path.exists());  // a file of another kind
}

CONFORMANCE_ON(beck::test::kernel, "http: of servers that find one dead socket, one listens") {
  const scratch_path path("race");
  const local::endpoint at(path.text);
  constexpr int servers = 4;
  for (int round = 0; round < 300; ++round) {
    {
      beck::io_context ctx(context_options());
      local::acceptor leaves(ctx, at, false);
    }
    std::atomic<int> ready(0), refused(0), listening(0);
    std::vector<std::thread> all;
    for (int i = 0; i < servers; ++i) {
      all.emplace_back([&] {
        beck::io_context ctx(context_options());
        http::server server(say_path);
        server.listen(at);
        ++ready;
        while (ready != servers) std::this_thread::yield();
        bool failed = false;
        server.serve().start(ctx, [&](std::exception_ptr error) { failed = error != nullptr; });
        for (int turn = 0; turn < 10; ++turn) ctx.poll();
        ++(failed ? refused : listening);
        while (refused + listening != servers) std::this_thread::yield();
        server.stop();
        ctx.run();
      });
    }
    for (std::thread& one : all) one.join();
    REQUIRE(listening == 1);
    REQUIRE(!path.exists());  // removed by its owner, as nobody has replaced it
  }
}

TEST_CASE("http: the lock of a path has one owner at a time, and leaves no file behind") {
  const scratch_path path("owner"), lock("owner.lock");
  const local::endpoint at(path.text);
  std::atomic<int> owners(0), taken(0), shared(0);
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i) {
    all.emplace_back([&] {
      for (int round = 0; round < 20'000; ++round) {
        const http::detail::path_lock mine(at);
        if (mine.error()) continue;
        ++taken;
        if (++owners != 1) ++shared;
        std::this_thread::yield();
        --owners;
      }
    });
  }
  for (std::thread& one : all) one.join();
  CHECK(taken > 0);
  CHECK(shared == 0);
  CHECK(!lock.exists());
}

CONFORMANCE_ON(beck::test::kernel, "http: a path that another process is replacing is in use") {
  const scratch_path path("replaced"), lock("replaced.lock");
  const local::endpoint at(path.text);
  {
    beck::io_context ctx(context_options());
    local::acceptor leaves(ctx, at, false);
  }
  const beck::unique_fd held(::open(lock.text.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(::flock(held.get(), LOCK_EX) == 0);
  on_path late(at, say_path);
  REQUIRE(late.ended);
  try {
    std::rethrow_exception(late.failed);
  } catch (const beck::io_error& failed) {
    CHECK(failed.code() == std::errc::address_in_use);
  }
  CHECK(path.exists());
  CHECK(lock.exists());
  REQUIRE(::flock(held.get(), LOCK_UN) == 0);
  on_path next(at, say_path);
  CHECK(!next.failed);
  CHECK(!lock.exists());
}

CONFORMANCE_ON(beck::test::kernel, "http: a file that only has the name of a lock is not removed") {
  const scratch_path path("named"), lock("named.lock"), other("other");
  const local::endpoint at(path.text);
  const auto refusal = [&] {
    on_path refused(at, say_path);
    REQUIRE(refused.failed);
    CHECK(!path.exists());
    CHECK(lock.exists());
    ::unlink(lock.text.c_str());
    try {
      std::rethrow_exception(refused.failed);
    } catch (const beck::io_error& failed) {
      CHECK(has(failed.what(), lock.text));
      return failed.code();
    }
  };
  std::FILE* const written = std::fopen(lock.text.c_str(), "w");
  std::fputs("precious", written);
  std::fclose(written);
  CHECK(refusal() == std::errc::file_exists);
  REQUIRE(::mkfifo(lock.text.c_str(), 0600) == 0);
  CHECK(refusal() == std::errc::file_exists);
  std::fclose(std::fopen(other.text.c_str(), "w"));
  REQUIRE(::symlink(other.text.c_str(), lock.text.c_str()) == 0);
  CHECK(refusal() == std::errc::too_many_symbolic_link_levels);
  CHECK(other.exists());
  std::fclose(std::fopen(lock.text.c_str(), "w"));  // of a process that was killed
  on_path next(at, say_path);
  CHECK(!next.failed);
  CHECK(!lock.exists());
}

CONFORMANCE_ON(beck::test::kernel, "http: several contexts accept from one path") {
  const scratch_path path("several");
  const local::endpoint at(path.text);
  http::server server(say_path);
  server.listen(at);
  {
    beck::io_pool pool(3, context_options());
    for (std::size_t i = 0; i < 3; ++i) co_spawn(pool.at(i), server.serve(), beck::detached);
    while (ask_path(at).empty()) std::this_thread::yield();
    for (int i = 0; i < 20; ++i) CHECK(has(ask_path(at), "/blocking"));
    server.stop();
    pool.join();
  }
  CHECK(server.stats().exchanges == 21);
  CHECK(!path.exists());
}

CONFORMANCE_ON(beck::test::kernel, "http: sockets that systemd passes are taken, and served") {
  const scratch_path path("inherited");
  const local::endpoint at(path.text);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {  // in its own process, whose descriptors 3 and 4 are free to be replaced
    const int plain = ::socket(AF_INET, SOCK_STREAM, 0);
    const int named = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* const to = static_cast<const sockaddr*>(at.data());
    if (::bind(plain, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0 ||
        ::bind(named, to, static_cast<socklen_t>(at.size())) != 0 || ::listen(plain, 5) != 0 ||
        ::listen(named, 5) != 0)
      beck::test::exit_child(2);
    const int high = ::fcntl(plain, F_DUPFD, 100), higher = ::fcntl(named, F_DUPFD, 100);
    if (::dup2(high, 3) != 3 || ::dup2(higher, 4) != 4) beck::test::exit_child(3);
    ::setenv("LISTEN_FDS", "2", 1);
    ::setenv("LISTEN_PID", "1", 1);
    http::server server(say_path);
    if (server.listen_inherited() != 0) beck::test::exit_child(4);
    ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
    ::setenv("LISTEN_FDS", "3", 1);  // the third one is no socket
    ::close(5);
    try {
      server.listen_inherited();
      beck::test::exit_child(5);
    } catch (const std::invalid_argument& failed) {
      if (!has(failed.what(), "descriptor 5")) beck::test::exit_child(6);
    }
    ::setenv("LISTEN_FDS", "2", 1);
    if (server.listen_inherited() != 2 || ::fcntl(3, F_GETFD) != FD_CLOEXEC)
      beck::test::exit_child(7);
    try {  // another owner would close them a second time
      http::server second(say_path);
      second.listen_inherited();
      beck::test::exit_child(10);
    } catch (const std::logic_error&) {}
    beck::io_context ctx(context_options());
    co_spawn(ctx, server.serve(), [](std::exception_ptr error) {
      if (error) beck::test::exit_child(8);
    });
    for (int i = 0; i < 20; ++i) ctx.poll();
    std::string by_path, by_port;
    const int port = server.endpoint(0).port();
    std::thread client([&] {
      by_path = ask_path(at);
      const beck::unique_fd fd(::socket(AF_INET, SOCK_STREAM, 0));
      any.sin_port = htons(static_cast<std::uint16_t>(port));
      if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0)
        by_port = ask_blocking(fd.get());
      server.stop();
    });
    ctx.run();
    client.join();
    const bool good = has(by_path, "/blocking") && has(by_port, "/blocking");
    beck::test::exit_child(good && server.stats().exchanges == 2 ? 0 : 9);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(path.exists());  // it is not the server's
}

TEST_CASE("http: what is no listening stream socket is not inherited") {
  const int not_listening = ::socket(AF_INET, SOCK_STREAM, 0);
  const int datagrams = ::socket(AF_INET, SOCK_DGRAM, 0);
  for (const int fd : {not_listening, datagrams, 1000}) {
    CHECK_THROWS_AS(http::detail::is_local_listener(fd), std::invalid_argument);
  }
  CHECK(::fcntl(not_listening, F_GETFD) >= 0);  // still the caller's
  ::close(not_listening);
  ::close(datagrams);
  ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
  for (const char* bad : {"", "x", "-1", "1x", "1025"}) {
    ::setenv("LISTEN_FDS", bad, 1);
    CHECK_THROWS_AS(http::detail::count_inherited(), std::invalid_argument);
  }
  ::setenv("LISTEN_FDS", "7", 1);
  CHECK(http::detail::count_inherited() == 7);
  ::unsetenv("LISTEN_PID");
  CHECK(http::detail::count_inherited() == 0);
  ::unsetenv("LISTEN_FDS");
}
