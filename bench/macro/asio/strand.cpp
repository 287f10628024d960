// SPDX-License-Identifier: BSL-1.0
//
// strand with Asio: a handler that posts itself to its strand, with an idle socket that waits for
// data.
#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/post.hpp>
#include <asio/strand.hpp>

#include "../common/micro.hpp"

namespace {

using strand = asio::strand<asio::io_context::executor_type>;

struct shared_count {
  bench::meter& meter;
  asio::io_context& context;
  strand on;
  std::uint64_t handlers = 0;
};

struct link {
  shared_count* shared;

  void operator()() const {
    if (shared->meter.over(++shared->handlers)) return shared->context.stop();
    asio::post(shared->on, *this);
  }
};

void chain(bench::meter& m) {
  asio::io_context context(1);
  asio::local::stream_protocol::socket idle(context, asio::local::stream_protocol(),
                                            bench::connected_sockets().near);
  char byte;
  idle.async_read_some(asio::buffer(&byte, 1), [](asio::error_code error, std::size_t) {
    if (!error) bench::fail("the idle socket is not idle");
  });
  shared_count shared{m, context, asio::make_strand(context.get_executor())};
  asio::post(shared.on, link{&shared});
  m.start();
  context.run();
  m.finish(shared.handlers);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "strand", {{"chain", chain}});
}
