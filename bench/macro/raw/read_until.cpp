// SPDX-License-Identifier: BSL-1.0
//
// The lower bound of read_until without I/O: memchr in the buffer, a use of the result, and one
// pass through an intrusive list. It is the same in every case; the timer is a timerfd.
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "../common/bystanders.hpp"
#include "run_queue.hpp"

namespace {

struct reader : raw::entry {
  bench::meter& meter;
  raw::run_queue& queue;
  const std::string& buffer;
  std::uint64_t reads = 0;
  std::uint64_t bytes = 0;

  reader(bench::meter& m, raw::run_queue& q, const std::string& b)
      : entry{nullptr, [](entry* e) { static_cast<reader*>(e)->read(); }},
        meter(m),
        queue(q),
        buffer(b) {}

  void read() {
    bytes += find_line();
    if (meter.over(++reads)) return queue.stop();
    queue.post(*this);
  }

  [[nodiscard]] std::size_t find_line() const {
    const char* const begin = buffer.data();
    const char* const end = begin + buffer.size();
    for (const char* p = begin; p != end; ++p) {
      p = static_cast<const char*>(std::memchr(p, '\r', static_cast<std::size_t>(end - p)));
      if (p == nullptr || p + 1 == end) break;
      if (p[1] == '\n') return static_cast<std::size_t>(p + 2 - begin);
    }
    bench::fail("no line");
  }
};

struct timer : raw::entry {
  bench::bystanders& others;
  int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

  explicit timer(bench::bystanders& o)
      : entry{nullptr, [](entry* e) { static_cast<timer*>(e)->fire(); }}, others(o) {}

  void set() {
    itimerspec when{};
    when.it_value.tv_nsec = bench::bystanders::timer_period_ms * 1'000'000;
    others.timer_was_set();
    if (timerfd_settime(fd, 0, &when, nullptr) != 0) bench::fail_errno("timerfd_settime");
  }

  void fire() {
    std::uint64_t expirations = 0;
    if (::read(fd, &expirations, sizeof expirations) != sizeof expirations) return;
    others.timer_fired();
    set();
  }
};

struct second_socket : raw::entry {
  bench::bystanders& others;

  explicit second_socket(bench::bystanders& o)
      : entry{nullptr, [](entry* e) { static_cast<second_socket*>(e)->read(); }}, others(o) {}

  void read() {
    char byte;
    if (recv(others.watched_socket(), &byte, 1, MSG_DONTWAIT) == 1) others.socket_was_read();
  }
};

void run(bench::meter& m) {
  raw::run_queue queue;
  bench::bystanders others;
  timer tick(others);
  second_socket second(others);
  queue.watch(tick.fd, tick);
  queue.watch(others.watched_socket(), second);
  reader r(m, queue, bench::pong_buffer());
  queue.post(r);
  m.start();
  tick.set();
  queue.run();
  m.finish(r.reads);
  bench::require(r.bytes == r.reads * bench::pong_size, "wrong sizes");
  others.conclude(m);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "read_until",
                          {{"callback", run}, {"reentrant", run}, {"coroutine", run}});
}
