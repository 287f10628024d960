// SPDX-License-Identifier: BSL-1.0
// A redis-server on a UNIX socket of its own, for cases that ask a real one; ended with the object.
#pragma once

#include <beck/io/io_context.hpp>
#include <beck/net/tcp.hpp>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/temporary_folder.hpp"

namespace beck::redis::test {

/// Returns the server that the cases ask: Debian's, or the one that the environment names.
inline const char* server_program() {
  const char* const named = std::getenv("BECK_TEST_REDIS_SERVER");
  return named != nullptr ? named : "/usr/bin/redis-server";
}

/// Returns whether the program is installed.
inline bool has_server() { return ::access(server_program(), X_OK) == 0; }

/// Returns a port of 127.0.0.1 that was free just now.
inline int free_port(io_context& ctx) {
  ip::tcp::acceptor probe(ctx);
  probe.open(ip::tcp::v4());
  probe.bind(ip::tcp::endpoint(ip::make_address("127.0.0.1"), 0));
  return probe.local_endpoint().port();
}

class real_server {
 public:
  /// Starts the server, with these options as well, and connects to it. See is_connected().
  explicit real_server(std::vector<std::string> options = {})
      : folder_("/tmp"), options_(std::move(options)) {
    start();
  }
  ~real_server() { kill(); }
  real_server(const real_server&) = delete;
  real_server& operator=(const real_server&) = delete;

  /// Kills the server with SIGKILL, and starts another one on the same socket.
  void restart() {
    kill();
    ::unlink(path().c_str());
    start();
  }
  /// Sends a signal to the server, such as SIGSTOP.
  void signal(int number) const { ::kill(process_, number); }
  bool is_connected() const { return connected_; }
  /// Returns the path of the server's socket, for further connections.
  std::string path() const { return folder_.path("s"); }

  /// Sends bytes and returns the answer up to and with `end`.
  std::string ask(std::string_view request, std::string_view end) {
    for (std::size_t at = 0; at < request.size();) {
      const ssize_t sent = ::write(socket_, request.data() + at, request.size() - at);
      if (sent <= 0) return {};
      at += static_cast<std::size_t>(sent);
    }
    std::string got;
    char part[4096];
    while (!got.ends_with(end)) {
      const ssize_t bytes = ::read(socket_, part, sizeof part);
      if (bytes <= 0) break;
      got.append(part, static_cast<std::size_t>(bytes));
    }
    return got;
  }

  /// Returns whether this is Redis 7.0, to which answers of other versions are compared.
  bool is_7_0() {
    return ask("INFO server\r\nECHO fence\r\n", "$5\r\nfence\r\n").find("redis_version:7.0.") !=
           std::string::npos;
  }

 private:
  void start() {
    const std::string path = folder_.path("s");
    std::vector<const char*> words = {"redis-server", "--port", "0", "--unixsocket",
                                      path.c_str(),   "--save", ""};
    for (const std::string& each : options_) words.push_back(each.c_str());
    words.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    process_ = ::fork();
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // also if the case is ended from outside
      ::dup2(ends[1], 1);
      ::execv(server_program(), const_cast<char* const*>(words.data()));
      ::_exit(127);
    }
    ::close(ends[1]);
    std::string said;
    char part[512];
    ssize_t bytes = 0;
    while (said.find("eady to accept") == std::string::npos &&
           (bytes = ::read(ends[0], part, sizeof part)) > 0)
      said.append(part, static_cast<std::size_t>(bytes));
    output_ = ends[0];  // open until the end: the server writes to it
    socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    connected_ =
        ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  void kill() {
    if (socket_ >= 0) ::close(socket_);
    if (output_ >= 0) ::close(output_);
    socket_ = output_ = -1;
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }

  beck::test::temporary_folder folder_;
  std::vector<std::string> options_;
  pid_t process_ = -1;
  int output_ = -1;
  int socket_ = -1;
  bool connected_ = false;
};

}  // namespace beck::redis::test
