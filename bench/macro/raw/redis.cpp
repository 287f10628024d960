// SPDX-License-Identifier: BSL-1.0
//
// Commands for Redis on a blocking socket: as many prepared ones as there are callers with one
// write, then reads until as many replies have come. It knows how long a reply is.
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "../common/redis_calls.hpp"

namespace {

constexpr std::string_view head = "$16\r\n";
constexpr std::size_t reply_size = head.size() + bench::redis_calls::value.size() + 2;

void send_all(int fd, std::string_view rest) {
  while (!rest.empty()) {
    const ssize_t n = send(fd, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (n < 0 && errno != EINTR) bench::fail_errno("send");
    if (n > 0) rest.remove_prefix(static_cast<std::size_t>(n));
  }
}

// Receives whole replies into `room`.
void receive_all(int fd, std::vector<char>& room) {
  for (std::size_t filled = 0; filled < room.size();) {
    const ssize_t n = recv(fd, room.data() + filled, room.size() - filled, 0);
    if (n < 0 && errno != EINTR) bench::fail_errno("recv");
    bench::require(n != 0, "the server has closed the connection");
    if (n > 0) filled += static_cast<std::size_t>(n);
  }
}

void run(bench::redis_calls& calls) {
  const int fd = bench::connect_to_redis(calls);
  std::string commands;
  for (std::size_t i = 0; i < calls.callers(); ++i) commands += "*2\r\n$3\r\nGET\r\n$3\r\nk16\r\n";
  std::vector<char> replies(calls.callers() * reply_size);
  calls.start();
  for (bool more = true; more;) {
    send_all(fd, commands);
    receive_all(fd, replies);
    for (std::size_t at = 0; at < replies.size(); at += reply_size) {
      const std::string_view reply(replies.data() + at, reply_size);
      bench::require(reply.starts_with(head), "a reply is not a text of 16 bytes");
      more = calls.take(reply.substr(head.size(), bench::redis_calls::value.size()));
    }
  }
  calls.finish();
  close(fd);
}

}  // namespace

int main(int argc, char** argv) { return bench::run_redis<run>(argc, argv); }
