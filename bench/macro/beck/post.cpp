// SPDX-License-Identifier: BSL-1.0
//
// post with beck: handlers that post themselves, with an idle socket that waits for data.
#include <beck/net/local.hpp>
#include <beck/run/post.hpp>

#include "../common/micro.hpp"
#include "counters.hpp"

namespace {

struct shared_count {
  bench::meter& meter;
  beck::io_context& context;
  std::uint64_t handlers = 0;
};

struct link {
  shared_count* shared;

  void operator()() const {
    if (shared->meter.over(++shared->handlers)) return shared->context.stop();
    beck::post(shared->context, *this);
  }
};

void run_chains(bench::meter& m, int chains) {
  beck::io_context context(beck_peer::context_options(m.options()));
  beck::local::stream_protocol::socket idle(context, beck::local::stream_protocol(),
                                            bench::connected_sockets().near);
  char byte;
  idle.async_read_some(beck::buffer(&byte, 1), [](beck::error_code error, std::size_t) {
    if (!error) bench::fail("the idle socket is not idle");
  });
  shared_count shared{m, context};
  for (int i = 0; i < chains; ++i) beck::post(context, link{&shared});
  beck_peer::counters counters(context);
  m.start();
  context.run();
  m.finish(shared.handlers);
  counters.report(shared.handlers, [&](const char* name, double value) { m.note(name, value); });
}

void chain(bench::meter& m) { run_chains(m, 1); }
void chains64(bench::meter& m) { run_chains(m, 64); }

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "post", {{"chain", chain}, {"chains64", chains64}});
}
