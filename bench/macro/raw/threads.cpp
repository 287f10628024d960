// SPDX-License-Identifier: BSL-1.0
//
// The lower bound of a stream of posts: entries that are never allocated, a compare-and-swap stack
// that the loop takes as a whole and reverses, and an indirect call for each. It never sleeps.
#include <thread>

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

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "threads", {{"post_stream", post_stream}});
}
