// SPDX-License-Identifier: BSL-1.0
//
// Ping-pong on bare edge-triggered epoll: per message one recv, one send and a share of an
// epoll_wait. No recv is made in vain, because one message is in flight per direction.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <vector>

#include "../common/pingpong.hpp"

namespace {

struct end_of_pair {
  int fd;
  bench::player player;
};

constexpr int events_max = 256;

// Receives a message and sends the answer. Returns false if the loop must stop.
bool answer(bench::match& match, end_of_pair& end) {
  const ssize_t received =
      recv(end.fd, end.player.data(), bench::player::message_size, MSG_DONTWAIT);
  if (received < 0 && errno == EAGAIN) return true;
  if (received <= 0) {
    match.broken(received < 0 ? errno : 0);
    return false;
  }
  end.player.take(static_cast<std::size_t>(received));
  const ssize_t sent =
      send(end.fd, end.player.data(), bench::player::message_size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(bench::player::message_size)) {
    match.broken(sent < 0 ? errno : 0);
    return false;
  }
  return end.player.sent();
}

void play(bench::match& match) {
  std::vector<end_of_pair> ends;
  for (const bench::seat& s : match.seats()) ends.push_back({s.fd, bench::player(match, s)});
  const int poller = epoll_create1(EPOLL_CLOEXEC);
  if (poller < 0) bench::fail_errno("epoll_create1");
  for (std::size_t i = 0; i < ends.size(); ++i) {
    epoll_event e{};
    e.events = EPOLLIN | EPOLLET;
    e.data.u64 = i;
    if (epoll_ctl(poller, EPOLL_CTL_ADD, ends[i].fd, &e) != 0) bench::fail_errno("epoll_ctl");
  }
  match.start();
  bool over = false;
  for (const bench::seat& s : match.seats()) {
    if (!s.opens) continue;
    end_of_pair& end = ends[static_cast<std::size_t>(&s - match.seats().data())];
    const ssize_t n = send(end.fd, end.player.data(), bench::player::message_size, MSG_NOSIGNAL);
    bench::require(n == static_cast<ssize_t>(bench::player::message_size), "first send");
    if (!end.player.sent()) over = true;
  }
  epoll_event events[events_max];
  while (!over) {
    const int n = epoll_wait(poller, events, events_max, -1);
    if (n < 0 && errno != EINTR) bench::fail_errno("epoll_wait");
    for (int k = 0; k < n && !over; ++k)
      if (!answer(match, ends[events[k].data.u64])) over = true;
  }
  match.finish();
}

}  // namespace

int main(int argc, char** argv) { return bench::run_pingpong(argc, argv, {{"raw", play}}); }
