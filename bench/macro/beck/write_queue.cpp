// SPDX-License-Identifier: BSL-1.0
//
// Small messages to one reader with beck: pushed into a write_queue, or written one after the
// other.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/write_queue.hpp>
#include <beck/net/local.hpp>

#include "../common/bursts.hpp"
#include "counters.hpp"

namespace {

using socket_type = beck::local::stream_protocol::socket;

beck::task<> push(bench::bursts& b, socket_type& socket) {
  beck::write_queue out(socket);
  while (!b.over()) {
    for (int i = 0; i < bench::bursts::messages; ++i) {
      if (out.push(beck::buffer(b.next(), bench::bursts::size))) bench::fail("push");
    }
    const auto drained = co_await out.async_drain();
    if (drained.error()) bench::fail("drain");
    b.read();
  }
}

beck::task<> write_each(bench::bursts& b, socket_type& socket) {
  while (!b.over()) {
    for (int i = 0; i < bench::bursts::messages; ++i) {
      const auto written =
          co_await beck::async_write(socket, beck::buffer(b.next(), bench::bursts::size));
      if (written.error()) bench::fail("write");
    }
    b.read();
  }
}

template <beck::task<> (*Writer)(bench::bursts&, socket_type&)>
void run(bench::meter& m) {
  bench::bursts bursts(m);
  beck::io_context context(beck_peer::context_options(m.options()));
  socket_type socket(context, beck::local::stream_protocol(), bursts.writer());
  co_spawn(context, Writer(bursts, socket), beck::detached);
  beck_peer::counters counters(context);
  m.start();
  context.run();
  m.finish(bursts.sent());
  counters.report(bursts.sent(), [&](const char* name, double value) { m.note(name, value); });
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "write_queue",
                          {{"push", run<push>}, {"each", run<write_each>}});
}
