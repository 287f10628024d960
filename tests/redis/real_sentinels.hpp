// SPDX-License-Identifier: BSL-1.0
// A primary, two replicas and three sentinels on loopback: processes of redis-server.
#pragma once

#include <beck/io/io_context.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/tcp.hpp>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "redis/names.hpp"
#include "redis/real_server.hpp"
#include "support/temporary_folder.hpp"

namespace beck::redis::test {

struct real_sentinels {
  static constexpr int servers = 3;  // 0 is the primary at first
  static constexpr int all = 6;      // 3 to 5 are sentinels

  /// Starts the processes, and waits until they know each other. See is_ready.
  /// A process that is silent for `down_ms` has failed.
  explicit real_sentinels(backend on = backend::epoll, int down_ms = 500)
      : ctx(io_context::options{.backend = on}), down_after(down_ms) {
    for (int i = 0; i < all; ++i) ports[index(i)] = free_port(ctx);
    for (int i = 0; i < all; ++i) {
      write_file(i);
      start(i);
    }
    for (int i = 0; i < servers; ++i)
      if (!run_until([&] { return ask(i, "PING") == "+PONG\r\n"; })) return;
    is_ready = run_until([&] {
      for (int i = servers; i < all; ++i) {
        if (ask(i, "INFO sentinel").find("slaves=2,sentinels=3") == std::string::npos) return false;
      }
      return true;
    });
  }
  ~real_sentinels() {
    for (int i = 0; i < all; ++i) end(i);
  }
  real_sentinels(const real_sentinels&) = delete;
  real_sentinels& operator=(const real_sentinels&) = delete;

  /// Sends a line of words over a connection of its own. Returns the first part of the answer;
  /// nothing if there is none within a second.
  std::string ask(int process, std::string_view line) const {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval limit{1, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(ports[index(process)]));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::string got;
    const std::string sent = std::string(line) + "\r\n";
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 &&
        ::send(fd, sent.data(), sent.size(), MSG_NOSIGNAL) > 0) {
      char part[16384];
      const ssize_t bytes = ::read(fd, part, sizeof part);
      if (bytes > 0) got.assign(part, static_cast<std::size_t>(bytes));
    }
    ::close(fd);
    return got;
  }
  /// Returns the server that a sentinel names; -1: none of them.
  int primary(int sentinel = servers) const {
    const std::string named = ask(sentinel, "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster");
    for (int i = 0; i < servers; ++i)
      if (named.find(std::to_string(ports[index(i)])) != std::string::npos) return i;
    return -1;
  }
  bool is_replica(int server) const {
    return ask(server, "ROLE").find("slave") != std::string::npos;
  }
  std::string url() const {
    std::string text = "redis+sentinel://";
    for (int i = servers; i < all; ++i)
      text += (i == servers ? "" : ",") + ("127.0.0.1:" + std::to_string(ports[index(i)]));
    return text + "/mymaster";
  }
  void signal(int process, int number) const { ::kill(processes[index(process)], number); }
  /// Kills a process with SIGKILL.
  void end(int process) {
    pid_t& one = processes[index(process)];
    if (one <= 0) return;
    ::kill(one, SIGKILL);
    ::waitpid(one, nullptr, 0);
    one = -1;
  }
  /// Starts a process, maybe again: it has the role that it had last.
  void start(int process) {
    const std::string path = file_of(process);
    std::vector<const char*> words = {"redis-server", path.c_str()};
    if (process >= servers) words.push_back("--sentinel");
    words.push_back(nullptr);
    pid_t& made = processes[index(process)];
    made = ::fork();
    if (made != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // also if the case is ended from outside
    const int nowhere = ::open("/dev/null", O_RDWR);
    ::dup2(nowhere, 1);
    ::execv(server_program(), const_cast<char* const*>(words.data()));
    ::_exit(127);
  }
  /// Runs handlers until `done()` returns true, which is asked every 10 ms. Returns false if it
  /// does not within 45 s: sentinels that
  /// have not agreed on a failover wait before they vote again.
  template <class Done>
  bool run_until(Done done) {
    ctx.restart();
    for (int i = 0; i < 4500; ++i) {
      if (done()) return true;
      steady_timer timer(ctx, duration(10'000'000));
      bool is_over = false;
      timer.async_wait([&](const error_code&) { is_over = true; });
      while (!is_over) ctx.run_one();
    }
    return false;
  }
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  beck::test::temporary_folder folder{"/tmp"};
  io_context ctx;
  const int down_after;
  std::array<int, all> ports{};
  std::array<pid_t, all> processes{};
  bool is_ready = false;

 private:
  std::string file_of(int process) const { return folder.path("c" + std::to_string(process)); }
  /// Writes the file that a process is configured by. Sentinels change theirs and the servers'.
  void write_file(int process) {
    std::ofstream file(file_of(process));
    file << "port " << ports[index(process)] << "\nbind 127.0.0.1\ndir " << folder.path() << "\n";
    if (process >= servers) {
      file << "sentinel monitor mymaster 127.0.0.1 " << ports[0] << " 2\n"
           << "sentinel down-after-milliseconds mymaster " << down_after << "\n"
           << "sentinel failover-timeout mymaster " << 2 * down_after << "\n";
    } else {
      file << "save \"\"\nrepl-diskless-sync-delay 0\ndbfilename d" << process << "\n";
      if (process > 0) file << "replicaof 127.0.0.1 " << ports[0] << "\n";
    }
  }
};

}  // namespace beck::redis::test
