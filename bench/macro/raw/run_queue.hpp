// SPDX-License-Identifier: BSL-1.0
//
// The minimum that a loop must do: an intrusive list of entries, an indirect call for each, and a
// poll of epoll every 64 entries if 100 microseconds have passed. It is the lower bound for the
// executors, and it shows how fast the machine is at the time of a measurement.
#pragma once

#include <sys/epoll.h>

#include <cerrno>
#include <cstdint>

#include "../common/measure.hpp"

namespace raw {

struct entry {
  entry* next;
  void (*run)(entry*);
};

class run_queue {
 public:
  run_queue() : poller_(epoll_create1(EPOLL_CLOEXEC)) {
    if (poller_ < 0) bench::fail_errno("epoll_create1");
  }
  run_queue(const run_queue&) = delete;
  run_queue& operator=(const run_queue&) = delete;

  void post(entry& e) {
    e.next = nullptr;
    *tail_ = &e;
    tail_ = &e.next;
  }

  // Posts `e` whenever the descriptor becomes readable.
  void watch(int fd, entry& e) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.ptr = &e;
    if (epoll_ctl(poller_, EPOLL_CTL_ADD, fd, &event) != 0) bench::fail_errno("epoll_ctl");
  }

  void stop() { stopped_ = true; }

  // Runs until stop() or until the queue is empty.
  void run() {
    stopped_ = false;
    std::int64_t looked_at = bench::wall_now_ns();
    while (head_ != nullptr && !stopped_) {
      for (int i = 0; i < 64 && head_ != nullptr && !stopped_; ++i) {
        entry* const e = head_;
        head_ = e->next;
        if (head_ == nullptr) tail_ = &head_;
        e->run(e);
      }
      const std::int64_t now = bench::wall_now_ns();
      if (now - looked_at < 100'000) continue;
      looked_at = now;
      poll();
    }
  }

 private:
  void poll() {
    epoll_event events[16];
    const int n = epoll_wait(poller_, events, 16, 0);
    if (n < 0 && errno != EINTR) bench::fail_errno("epoll_wait");
    for (int i = 0; i < n; ++i) post(*static_cast<entry*>(events[i].data.ptr));
  }

  entry* head_ = nullptr;
  entry** tail_ = &head_;
  bool stopped_ = false;
  int poller_;
};

}  // namespace raw
