// SPDX-License-Identifier: BSL-1.0
//
// Datagrams with Asio: one async_send and one async_receive_from for each. Asio has no batches.
#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/udp.hpp>

#include "../common/datagrams.hpp"

namespace {

using frame = bench::datagrams;

struct session {
  asio::io_context& context;
  frame& datagrams;
  asio::ip::udp::socket out;
  asio::ip::udp::socket in;
  asio::ip::udp::endpoint from;
  std::size_t sent = 0;

  session(asio::io_context& c, frame& f)
      : context(c),
        datagrams(f),
        out(c, asio::ip::udp::v4(), f.sender()),
        in(c, asio::ip::udp::v4(), f.receiver()) {}

  void begin() {
    datagrams.number();
    sent = 0;
    send();
  }
  void send() {
    out.async_send(asio::buffer(datagrams.outgoing() + sent * frame::size, frame::size),
                   [this](asio::error_code error, std::size_t) {
                     if (error) bench::fail("send");
                     if (++sent < frame::burst) send();
                   });
  }
  void receive() {
    in.async_receive_from(asio::buffer(datagrams.incoming(), frame::size), from,
                          [this](asio::error_code error, std::size_t n) {
                            if (error) bench::fail("receive");
                            datagrams.take(datagrams.incoming(), n);
                            if (datagrams.burst_complete()) {
                              if (datagrams.over()) return context.stop();
                              begin();
                            }
                            receive();
                          });
  }
};

void one_by_one(bench::meter& m) {
  frame f(m);
  asio::io_context context(1);
  session s(context, f);
  s.receive();
  s.begin();
  m.start();
  context.run();
  m.finish(f.received());
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "udp", {{"one_by_one", one_by_one}});
}
