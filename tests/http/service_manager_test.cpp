// SPDX-License-Identifier: BSL-1.0
// What run() tells a service manager, and when.
#include <beck/http/server.hpp>
#include <beck/io/service_manager.hpp>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

#include "http/blocking_client.hpp"
#include "http/served.hpp"
#include "support/child.hpp"

using namespace beck::http::test;
namespace http = beck::http;

namespace {

/// A service manager with a socket. `name`: a path or, behind "@", an abstract name.
class manager {
 public:
  explicit manager(const std::string& name)
      : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, name.data(), name.size());
    if (name[0] == '@') at.sun_path[0] = '\0';
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&at), bytes) != 0)
      beck::test::exit_child(2);
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  /// Returns the next message; with `flags` MSG_DONTWAIT an empty text if there is none.
  std::string next(int flags = 0) const {
    char text[100];
    const ssize_t bytes = ::recv(socket_.get(), text, sizeof text, flags);
    return bytes > 0 ? std::string(text, static_cast<std::size_t>(bytes)) : std::string();
  }

 private:
  beck::unique_fd socket_;
};

std::string unique_name(const char* front) {
  return front + std::string("beck-manager-") + std::to_string(::getpid());
}

struct fails_to_start {
  explicit fails_to_start(beck::io_context&) {}
  static beck::task<> start() {
    throw std::runtime_error("no database");
    co_return;
  }
};

}  // namespace

TEST_CASE("http: run() says READY when it listens, and STOPPING at the first signal, once") {
  for (const char* front : {"@", "/tmp/"}) {
    CAPTURE(front);
    const std::string said = beck::test::said_by_child([&] {
      const std::string name = unique_name(front);
      const manager of(name);
      http::server server(say_path);
      server.listen(any_port);
      std::string seen;
      std::thread beside([&] {
        seen = of.next() + ' ';
        seen += ask_port(server.endpoint().port()).substr(9, 3) + ' ';
        ::raise(SIGTERM);
        seen += of.next() + ' ';
        seen += ask_port(server.endpoint().port()).substr(9, 3) + ' ';  // during the notice
        ::raise(SIGTERM);
      });
      const int result =
          http::run(server, {.contexts = 2, .notice_timeout = beck::duration(3'600'000'000'000)});
      beside.join();
      if (name[0] == '/') std::filesystem::remove(name);
      return seen + std::to_string(result) + of.next(MSG_DONTWAIT);
    });
    CHECK(said == "READY=1 200 STOPPING=1 200 0");
  }
}

TEST_CASE("http: run() says STOPPING when the program has stopped the server itself") {
  const std::string said = beck::test::said_by_child([&] {
    const manager of(unique_name("@"));
    http::server server(say_path);
    server.listen(any_port);
    std::thread beside([&] {
      static_cast<void>(port_of(server));
      server.stop();
    });
    const int result = http::run(server, {.contexts = 2});
    beside.join();
    std::string seen = of.next(MSG_DONTWAIT) + ' ';
    seen += of.next(MSG_DONTWAIT) + ' ';
    return seen + std::to_string(result) + of.next(MSG_DONTWAIT);
  });
  CHECK(said == "READY=1 STOPPING=1 0");
}

TEST_CASE("http: run() that cannot begin says nothing to a service manager") {
  for (const bool throws : {false, true}) {
    CAPTURE(throws);
    const std::string said = beck::test::said_by_child([&] {
      const manager of(unique_name("@"));
      http::per_context<fails_to_start> objects;
      http::server server(say_path);
      server.listen(any_port);
      const auto fail = [](void*) { throw std::runtime_error("not now"); };
      const int result = throws ? http::run(server, {.contexts = 2, .on_listening = fail})
                                : http::run(server, {.contexts = 2, .objects = {objects}});
      return of.next(MSG_DONTWAIT) + std::to_string(result);
    });
    CHECK(said == "1");
  }
}

TEST_CASE("io: a message to a manager that is not there is dropped") {
  const std::string said = beck::test::said_by_child([&] {
    for (const std::string& name :
         {std::string("/nowhere/at/all"), std::string(), std::string(108, 'x'), std::string("@")}) {
      ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
      beck::notify_service_manager("READY=1");
    }
    ::unsetenv("NOTIFY_SOCKET");
    beck::notify_service_manager("READY=1");
    const manager longest('@' + std::string(106, 'x'));
    beck::notify_service_manager("READY=1");
    return longest.next(MSG_DONTWAIT);
  });
  CHECK(said == "READY=1");
}
