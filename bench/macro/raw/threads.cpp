// SPDX-License-Identifier: BSL-1.0
//
// The lower bound of a stream of posts: entries that are never allocated, a compare-and-swap stack
// that the loop takes as a whole and reverses, and an indirect call for each. It never sleeps. And
// of a crowd: threads that wait on one edge-triggered epoll instance; per message one recv, one
// send and a share of an epoll_wait.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "../common/crowd.hpp"
#include "../common/stream.hpp"

namespace {

struct entry {
  entry* next;
  void (*run)(bench::post_stream&);
};

class stack {
 public:
  void push(entry& e) {
    entry* head = head_.load(std::memory_order_relaxed);
    do {
      e.next = head;
    } while (!head_.compare_exchange_weak(head, &e, std::memory_order_release,
                                          std::memory_order_relaxed));
  }
  // Takes all entries; returns them oldest first.
  entry* take() {
    if (head_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    entry* newest = head_.exchange(nullptr, std::memory_order_acquire);
    entry* oldest = nullptr;
    while (newest != nullptr) {
      entry* const next = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = next;
    }
    return oldest;
  }

 private:
  alignas(64) std::atomic<entry*> head_{nullptr};
};

void post_stream(bench::meter& m) {
  stack mail;
  bench::post_stream stream;
  std::atomic<bool> over{false};
  std::vector<entry> entries(bench::post_stream::ahead_max + 256);
  m.start();
  std::thread loop([&] {
    bench::pin_to_cpu(m.options().other_cpu);
    for (;;) {
      const bool last = over.load(std::memory_order_acquire);
      entry* e = mail.take();
      if (e == nullptr) {
        if (last) return;
        sched_yield();
      }
      while (e != nullptr) {
        entry* const next = e->next;
        e->run(stream);
        e = next;
      }
    }
  });
  std::size_t at = 0;
  const std::uint64_t posted = stream.run(m, [&] {
    entry& e = entries[at];
    at = at + 1 == entries.size() ? 0 : at + 1;
    e.run = [](bench::post_stream& s) { s.handled(); };
    mail.push(e);
  });
  over.store(true, std::memory_order_release);
  loop.join();
  m.finish(stream.done());
  bench::require(stream.done() == posted, "a post was lost");
}

// One epoll instance for all threads.
class poller {
 public:
  explicit poller(bench::crowd& crowd) {
    bench::require(fd_ >= 0 && over_ >= 0, "no epoll instance");
    for (bench::crowd_end& end : crowd.ends()) watch(end.socket(), EPOLLIN | EPOLLET, &end);
    watch(over_, EPOLLIN, nullptr);  // without an edge: it ends the waits of all threads
  }
  ~poller() {
    close(fd_);
    close(over_);
  }
  poller(const poller&) = delete;
  poller& operator=(const poller&) = delete;

  // Serves events until the run is over, on each thread that calls it. One message is in flight
  // per direction, so the handlers of an end never overlap.
  void run() {
    constexpr int events_max = 32;  // few, so that the threads share the events
    epoll_event events[events_max];
    for (;;) {
      const int n = epoll_wait(fd_, events, events_max, -1);
      if (n < 0 && errno != EINTR) bench::fail_errno("epoll_wait");
      for (int k = 0; k < n; ++k) {
        if (events[k].data.ptr == nullptr) return;
        if (!answer(*static_cast<bench::crowd_end*>(events[k].data.ptr))) return stop();
      }
    }
  }

  // Counts and sends a message. Returns false if the run is over. Counts first: another thread may
  // serve the answer as soon as the message is sent.
  static bool write(bench::crowd_end& end) {
    const bool goes_on = end.sent();
    const ssize_t n = send(end.socket(), end.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL);
    bench::require(n == static_cast<ssize_t>(size), "a write failed");
    return goes_on;
  }

 private:
  static constexpr std::size_t size = bench::lane_end::message_size;

  static bool answer(bench::crowd_end& end) {
    const ssize_t n = recv(end.socket(), end.data(), size, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) return true;
    bench::require(n > 0, "a read failed");
    end.take(static_cast<std::size_t>(n));
    return write(end);
  }

  void watch(int fd, unsigned events, void* pointer) const {
    epoll_event e{};
    e.events = events;
    e.data.ptr = pointer;
    if (epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &e) != 0) bench::fail_errno("epoll_ctl");
  }
  void stop() const { bench::require(eventfd_write(over_, 1) == 0, "the other threads run on"); }

  int fd_ = epoll_create1(EPOLL_CLOEXEC);
  int over_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
};

void play_together(bench::meter& m, int threads, bool busy) {
  bench::crowd crowd(m, busy);
  poller all(crowd);
  for (bench::crowd_end& end : crowd.ends()) {
    if (end.opens()) poller::write(end);
  }
  crowd.measure(threads, [&] { all.run(); });
}

void one_thread(bench::meter& m) { play_together(m, 1, false); }
void two_threads(bench::meter& m) { play_together(m, 2, false); }
void one_busy(bench::meter& m) { play_together(m, 1, true); }
void two_busy(bench::meter& m) { play_together(m, 2, true); }

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "threads",
                          {{"post_stream", post_stream},
                           {"exclusive_1", one_thread},
                           {"shared_1", one_thread},
                           {"shared_2", two_threads},
                           {"shared_1_busy", one_busy},
                           {"shared_2_busy", two_busy}});
}
