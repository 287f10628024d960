// SPDX-License-Identifier: BSL-1.0
//
// strand with beck: a handler that posts itself to its strand, with an idle socket that waits for
// data.
#include <beck/net/local.hpp>
#include <beck/run/strand.hpp>

#include "../common/micro.hpp"
#include "counters.hpp"

namespace {

using strand = beck::strand<beck::io_context::executor_type>;

struct shared_count {
  bench::meter& meter;
  beck::io_context& context;
  strand on;
  std::uint64_t handlers = 0;
};

struct link {
  shared_count* shared;

  void operator()() const {
    if (shared->meter.over(++shared->handlers)) return shared->context.stop();
    beck::post(shared->on, *this);
  }
};

void chain(bench::meter& m) {
  beck::io_context context(beck_peer::context_options(m.options()));
  beck::local::stream_protocol::socket idle(context, beck::local::stream_protocol(),
                                            bench::connected_sockets().near);
  char byte;
  idle.async_read_some(beck::buffer(&byte, 1), [](beck::error_code error, std::size_t) {
    if (!error) bench::fail("the idle socket is not idle");
  });
  shared_count shared{m, context, beck::make_strand(context)};
  beck::post(shared.on, link{&shared});
  beck_peer::counters counters(context);
  m.start();
  context.run();
  m.finish(shared.handlers);
  counters.report(shared.handlers, [&](const char* name, double value) { m.note(name, value); });
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "strand", {{"chain", chain}});
}
