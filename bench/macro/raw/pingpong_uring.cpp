// SPDX-License-Identifier: BSL-1.0
//
// Ping-pong on a bare ring: sends and receives are ring entries, so a batch of messages costs one
// system call. `--lazy` arms receives one turn late (peer raw-uring-lazy); without it they are
// armed at once (raw-uring).
#include <vector>

#include "../common/pingpong.hpp"
#include "arming.hpp"

namespace {

constexpr std::uint64_t send_failed = UINT64_MAX;

struct end_of_pair {
  int fd;
  bench::player player;
};

void play(bench::match& match) {
  std::vector<end_of_pair> ends;
  for (const bench::seat& s : match.seats()) ends.push_back({s.fd, bench::player(match, s)});
  raw::ring ring(1024);
  raw::arming receives(ring, match.options().lazy, [&](std::size_t i) {
    ring.receive(ends[i].fd, ends[i].player.data(), bench::player::message_size, i);
  });
  bool over = false;
  // 64 bytes always fit: the socket holds at most one message. So a send that succeeds needs no
  // completion, and it has copied its bytes before the entry behind it, a receive into the same
  // buffer, is looked at.
  const auto send = [&](std::size_t i) {
    ring.send(ends[i].fd, ends[i].player.data(), bench::player::message_size, send_failed).flags =
        IOSQE_CQE_SKIP_SUCCESS;
    if (!ends[i].player.sent()) over = true;
    receives.want(i);
  };
  match.start();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (match.seats()[i].opens)
      send(i);
    else
      receives.want(i);
  }
  while (!over) {
    receives.turn();
    ring.for_each_completion([&](const io_uring_cqe& c) {
      if (c.user_data == send_failed || c.res <= 0) {
        match.broken(-c.res);
        over = true;
      } else if (!over) {
        ends[c.user_data].player.take(static_cast<std::size_t>(c.res));
        send(c.user_data);
      }
    });
  }
  ring.enter(0);
  match.finish();
}

}  // namespace

int main(int argc, char** argv) { return bench::run_pingpong(argc, argv, {{"raw", play}}); }
