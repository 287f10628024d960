// SPDX-License-Identifier: BSL-1.0
//
// Datagrams with beck: one by one as with Asio, in batches, and with segmentation offload.
#include <beck/net/datagram_batch.hpp>
#include <beck/net/udp.hpp>

#include "../common/datagrams.hpp"
#include "counters.hpp"

namespace {

using frame = bench::datagrams;
using udp = beck::ip::udp;

struct session {
  beck::io_context context;
  frame& datagrams;
  udp::socket out;
  udp::socket in;

  explicit session(frame& f)
      : context(beck_peer::context_options(f.frame().options())),
        datagrams(f),
        out(context, udp::v4(), f.sender()),
        in(context, udp::v4(), f.receiver()) {}

  static void check(const beck::error_code& error, const char* what) {
    if (error) bench::fail(what);
  }
};

template <class Session>
void run(bench::meter& m) {
  frame f(m);
  Session s(f);
  s.receive();
  s.begin();
  beck_peer::counters counters(s.context);
  m.start();
  s.context.run();
  m.finish(f.received());
  counters.report(f.received(), [&](const char* name, double value) { m.note(name, value); });
}

struct single : session {
  using session::session;
  udp::endpoint from;
  std::size_t sent = 0;

  void begin() {
    datagrams.number();
    sent = 0;
    send();
  }
  void send() {
    out.async_send(beck::buffer(datagrams.outgoing() + sent * frame::size, frame::size),
                   [this](beck::error_code error, std::size_t) {
                     check(error, "send");
                     if (++sent < frame::burst) send();
                   });
  }
  void receive() {
    in.async_receive_from(beck::buffer(datagrams.incoming(), frame::size), from,
                          [this](beck::error_code error, std::size_t n) {
                            check(error, "receive");
                            datagrams.take(datagrams.incoming(), n);
                            if (datagrams.burst_complete()) {
                              if (datagrams.over()) return context.stop();
                              begin();
                            }
                            receive();
                          });
  }
};

struct many : session {
  explicit many(frame& f)
      : session(f), incoming(beck::buffer(f.incoming(), frame::burst * frame::size), frame::size) {
    for (std::size_t i = 0; i < frame::burst; ++i) {
      outgoing.add(beck::buffer(f.outgoing() + i * frame::size, frame::size));
    }
  }
  udp::receive_batch<frame::burst> incoming;
  udp::send_batch<frame::burst> outgoing;

  void begin() {
    datagrams.number();
    out.async_send_many(outgoing,
                        [](beck::error_code error, std::size_t) { check(error, "send"); });
  }
  void receive() {
    in.async_receive_many(incoming, [this](beck::error_code error, std::size_t n) {
      check(error, "receive");
      for (std::size_t i = 0; i < n; ++i) {
        const beck::const_buffer data = incoming[i].data();
        datagrams.take(static_cast<const char*>(data.data()), data.size());
      }
      if (datagrams.burst_complete()) {
        if (datagrams.over()) return context.stop();
        begin();
      }
      receive();
    });
  }
};

struct offloaded : session {
  explicit offloaded(frame& f)
      : session(f),
        incoming(beck::buffer(f.incoming(), frame::incoming_size), frame::incoming_size) {
    out.set_option(udp::send_segment_size(int{frame::size}));
    in.set_option(udp::receive_coalesced(true));
  }
  udp::receive_batch<1> incoming;

  void begin() {
    datagrams.number();
    out.async_send(beck::buffer(datagrams.outgoing(), frame::burst * frame::size),
                   [](beck::error_code error, std::size_t) { check(error, "send"); });
  }
  void receive() {
    in.async_receive_many(incoming, [this](beck::error_code error, std::size_t) {
      check(error, "receive");
      const auto one = incoming[0];
      const auto* const data = static_cast<const char*>(one.data().data());
      const std::size_t each = one.segment_size() != 0 ? one.segment_size() : one.size();
      for (std::size_t at = 0; at < one.size(); at += each) datagrams.take(data + at, each);
      if (datagrams.burst_complete()) {
        if (datagrams.over()) return context.stop();
        begin();
      }
      receive();
    });
  }
};

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(
      argc, argv, "udp",
      {{"one_by_one", run<single>}, {"batch", run<many>}, {"gso_gro", run<offloaded>}});
}
