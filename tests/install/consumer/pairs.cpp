// SPDX-License-Identifier: BSL-1.0
// A user's program in Asio's style, with nothing but the namespace changed: pairs of UNIX sockets
// toss messages to and fro. Handlers are generic lambdas that own their player and hand it on.
// Prints how many messages were sent, and how often the loop entered the kernel.
//   pairs TOSSES
#include <array>
#include <beck/beck.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>

using stream = beck::local::stream_protocol::socket;

struct player {
  stream end;
  std::array<char, 64> ball{};
  long tosses_left;

  player(beck::io_context& context, long tosses) : end(context), tosses_left(tosses) {}
};

long sent = 0;

void toss(std::unique_ptr<player> who, std::size_t size);

void await_ball(std::unique_ptr<player> who) {
  auto& end = who->end;
  auto room = beck::buffer(who->ball);
  end.async_read_some(room, [who = std::move(who)](auto error, auto size) mutable {
    if (!error && who->tosses_left > 0) toss(std::move(who), size);
  });
}

void toss(std::unique_ptr<player> who, std::size_t size) {
  auto& end = who->end;
  auto ball = beck::buffer(who->ball, size);
  beck::async_write(end, ball, [who = std::move(who)](auto error, auto) mutable {
    if (error) return;
    ++sent;
    --who->tosses_left;
    await_ball(std::move(who));
  });
}

int main(int argc, char** argv) {
  const long tosses = argc > 1 ? std::atol(argv[1]) : 1000;
  beck::io_context context(1);
  for (int pair = 0; pair < 100; ++pair) {
    auto one = std::make_unique<player>(context, tosses);
    auto other = std::make_unique<player>(context, tosses);
    connect_pair(one->end, other->end);
    await_ball(std::move(one));
    toss(std::move(other), 64);
  }
  context.run();
  std::printf("%ld messages on %s, %llu entries\n", sent, beck::to_string(context.backend_in_use()),
              static_cast<unsigned long long>(context.stats().kernel_entries));
}
