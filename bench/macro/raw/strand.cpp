// SPDX-License-Identifier: BSL-1.0
//
// The lower bound of strand: a list of entries that is itself an entry of a list, 64 entries at a
// time, and an indirect call for each; with an idle socket registered. There is one thread, so no
// atomics.
#include "../common/micro.hpp"
#include "run_queue.hpp"

namespace {

class strand : public raw::entry {
 public:
  explicit strand(raw::run_queue& queue)
      : entry{nullptr, [](raw::entry* e) { static_cast<strand*>(e)->run_some(); }}, queue_(queue) {}

  void post(raw::entry& e) {
    e.next = nullptr;
    *tail_ = &e;
    tail_ = &e.next;
    if (!scheduled_) queue_.post(*this);
    scheduled_ = true;
  }

 private:
  void run_some() {
    for (int i = 0; i < 64 && head_ != nullptr; ++i) {
      raw::entry* const e = head_;
      head_ = e->next;
      if (head_ == nullptr) tail_ = &head_;
      e->run(e);
    }
    scheduled_ = head_ != nullptr;
    if (scheduled_) queue_.post(*this);
  }

  raw::run_queue& queue_;
  raw::entry* head_ = nullptr;
  raw::entry** tail_ = &head_;
  bool scheduled_ = false;
};

struct link : raw::entry {
  bench::meter& meter;
  raw::run_queue& queue;
  strand& on;
  std::uint64_t handlers = 0;

  link(bench::meter& m, raw::run_queue& q, strand& s)
      : entry{nullptr, [](raw::entry* e) { static_cast<link*>(e)->run_once(); }},
        meter(m),
        queue(q),
        on(s) {}

  void run_once() {
    if (meter.over(++handlers)) return queue.stop();
    on.post(*this);
  }
};

void chain(bench::meter& m) {
  raw::run_queue queue;
  raw::entry idle{nullptr, [](raw::entry*) { bench::fail("the idle socket is not idle"); }};
  queue.watch(bench::connected_sockets().near, idle);
  strand on(queue);
  link only(m, queue, on);
  on.post(only);
  m.start();
  queue.run();
  m.finish(only.handlers);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "strand", {{"chain", chain}});
}
