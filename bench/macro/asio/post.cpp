// SPDX-License-Identifier: BSL-1.0
//
// post with Asio: handlers that post themselves, with an idle socket that waits for data.
#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/post.hpp>

#include "../common/micro.hpp"

namespace {

struct shared_count {
  bench::meter& meter;
  asio::io_context& context;
  std::uint64_t handlers = 0;
};

struct link {
  shared_count* shared;

  void operator()() const {
    if (shared->meter.over(++shared->handlers)) return shared->context.stop();
    asio::post(shared->context, *this);
  }
};

void run_chains(bench::meter& m, int chains) {
  asio::io_context context(1);
  asio::local::stream_protocol::socket idle(context, asio::local::stream_protocol(),
                                            bench::connected_sockets().near);
  char byte;
  idle.async_read_some(asio::buffer(&byte, 1), [](asio::error_code error, std::size_t) {
    if (!error) bench::fail("the idle socket is not idle");
  });
  shared_count shared{m, context};
  for (int i = 0; i < chains; ++i) asio::post(context, link{&shared});
  m.start();
  context.run();
  m.finish(shared.handlers);
}

void chain(bench::meter& m) { run_chains(m, 1); }
void chains64(bench::meter& m) { run_chains(m, 64); }

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "post", {{"chain", chain}, {"chains64", chains64}});
}
