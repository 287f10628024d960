// SPDX-License-Identifier: BSL-1.0
//
// The lower bound of post: an intrusive list and an indirect call, with an idle socket registered.
#include <vector>

#include "../common/micro.hpp"
#include "run_queue.hpp"

namespace {

struct shared_count {
  bench::meter& meter;
  raw::run_queue& queue;
  std::uint64_t handlers = 0;
};

struct link : raw::entry {
  shared_count& shared;

  explicit link(shared_count& s)
      : entry{nullptr, [](entry* e) { static_cast<link*>(e)->run_once(); }}, shared(s) {}

  void run_once() {
    if (shared.meter.over(++shared.handlers)) return shared.queue.stop();
    shared.queue.post(*this);
  }
};

void run_chains(bench::meter& m, std::size_t chains) {
  raw::run_queue queue;
  raw::entry idle{nullptr, [](raw::entry*) { bench::fail("the idle socket is not idle"); }};
  queue.watch(bench::connected_sockets().near, idle);
  shared_count shared{m, queue};
  std::vector<link> links(chains, link(shared));
  for (link& l : links) queue.post(l);
  m.start();
  queue.run();
  m.finish(shared.handlers);
}

void chain(bench::meter& m) { run_chains(m, 1); }
void chains64(bench::meter& m) { run_chains(m, 64); }

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "post", {{"chain", chain}, {"chains64", chains64}});
}
