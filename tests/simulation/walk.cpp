// SPDX-License-Identifier: BSL-1.0
// The walk: stations, timers and a door where connections are made, one step after the other, first
// from outside the loop and then from inside.
#include "simulation/walk.hpp"

#include <beck/coro/co_spawn.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/testing/memory.hpp>
#include <optional>
#include <utility>

#include "simulation/walk_station.hpp"

namespace beck::test {
using namespace detail;
namespace {

constexpr std::int64_t pause_ns_max = 200'000;
/// For all operations and tasks of a walk together.
constexpr std::size_t memory_bytes_max = 64 * 1024;

/// A timer with several waits, set anew and cancelled at any time.
class walk_timer {
 public:
  walk_timer(io_context& ctx, oracles& of, choices& from)
      : timer_(ctx), oracles_(of), from_(from) {}

  void step() {
    switch (from_.below(4)) {
      case 0: {
        const oracles::initiation inside(oracles_);
        timer_.expires_after(duration(static_cast<std::int64_t>(from_.below(pause_ns_max))));
        return;
      }
      case 1: {
        const oracles::initiation inside(oracles_);
        timer_.cancel();
        return;
      }
      default:
        wait();
    }
  }
  void cancel() { timer_.cancel(); }

 private:
  void wait() {
    const time_point due = timer_.expiry();
    auto done = [this, due, once = expected_once(oracles_)](error_code ec) mutable {
      oracles_.called_back();
      once.happened();
      if (!ec) oracles_.expect(steady_now() >= due, "a timer ended before its time");
      if (ec && ec != error::operation_aborted) oracles_.broken("a timer failed: " + ec.message());
    };
    oracles_.starts([&] { timer_.async_wait(std::move(done)); });
  }

  steady_timer timer_;
  oracles& oracles_;
  choices& from_;
};

/// Connections are made here, and cut off while they are made.
class walk_door {
 public:
  walk_door(io_context& ctx, oracles& of, choices& from)
      : oracles_(of),
        from_(from),
        acceptor_(ctx, ip::tcp::endpoint(ip::address_v4::loopback(), 0)),
        client_(ctx),
        server_(ctx) {}

  void step() {
    switch (from_.below(6)) {
      case 0:
      case 1:
        if (accepting_) return;
        server_.close();
        accepting_ = oracles_.starts(
            [&] { acceptor_.async_accept(server_, counted(oracles_, accepting_)); });
        return;
      case 2:
      case 3:
        if (connecting_) return;
        client_.close();
        connecting_ = oracles_.starts([&] {
          client_.async_connect(acceptor_.local_endpoint(), counted(oracles_, connecting_));
        });
        return;
      case 4: {
        const oracles::initiation inside(oracles_);
        acceptor_.cancel();
        return;
      }
      default: {
        const oracles::initiation inside(oracles_);
        error_code closed;
        client_.cancel(closed);
      }
    }
  }
  void finish() {
    const oracles::initiation inside(oracles_);
    acceptor_.close();
    client_.close();
    server_.close();
  }

 private:
  /// A handler that says when it has been called.
  class counted {
   public:
    counted(oracles& of, bool& busy) : of_(of), once_(of), busy_(busy) {}
    void operator()(error_code) {
      of_.called_back();
      once_.happened();
      busy_ = false;
    }

   private:
    oracles& of_;
    expected_once once_;
    bool& busy_;
  };

  oracles& oracles_;
  choices& from_;
  ip::tcp::acceptor acceptor_;
  ip::tcp::socket client_;
  ip::tcp::socket server_;
  bool accepting_ = false;
  bool connecting_ = false;
};

class walker {
 public:
  walker(io_context& ctx, testing::watched_memory& memory, choices& from, const walk_options& how)
      : ctx_(ctx),
        memory_(memory),
        from_(from),
        how_(how),
        near_(ctx, oracles_, from, how.faults),
        far_(ctx, oracles_, from, how.faults),
        timers_{{ctx, oracles_, from}, {ctx, oracles_, from}},
        door_(ctx, oracles_, from),
        pause_(ctx) {}

  std::string run() {
    const unsigned outside = how_.steps / 2;
    for (unsigned i = 0; i < outside; ++i) step();  // off the runner: by mail
    memory_.fail_after(0);
    co_spawn(ctx_, inside(how_.steps - outside), detached);
    ctx_.run();
    oracles_.expect_all_completed();
    oracles_.expect(ctx_.stats().outstanding == 0, "operations are outstanding at the end");
    oracles_.expect(memory_.bytes_max() <= memory_bytes_max, "the library took too much memory");
    return oracles_.report();
  }

 private:
  void step() {
    if (how_.out_of_memory && from_.below(4) == 3) memory_.fail_after(1 + from_.below(3));
    switch (from_.below(8)) {
      case 0:
        return timers_[from_.below(2)].step();
      case 1:
        return door_.step();
      case 2:
      case 3:
      case 4:
        return far_.step();
      default:
        return near_.step();
    }
  }

  task<> inside(unsigned steps) {
    for (unsigned i = 0; i < steps; ++i) {
      step();
      if (from_.below(8) < 5) continue;
      pause_.expires_after(duration(static_cast<std::int64_t>(from_.below(pause_ns_max))));
      const auto waited = co_await pause_.async_wait();
      oracles_.expect(!waited.error(), "the walk's own timer failed");
    }
    memory_.fail_after(0);
    near_.finish();
    far_.finish();
    for (walk_timer& timer : timers_) timer.cancel();
    door_.finish();
  }

  io_context& ctx_;
  testing::watched_memory& memory_;
  oracles oracles_;
  choices& from_;
  walk_options how_;
  walk_station<local::stream_protocol::socket> near_;
  walk_station<ip::tcp::socket> far_;
  walk_timer timers_[2];
  walk_door door_;
  steady_timer pause_;
};

}  // namespace

std::string walk(io_context& ctx, choices& from, const walk_options& how) {
  testing::watched_memory memory;
  std::optional<walker> one(std::in_place, ctx, memory, from, how);
  std::string report = one->run();
  one.reset();
  ctx.restart();
  ctx.poll();
  if (report.empty() && memory.bytes_in_use() != 0) {
    report = std::to_string(memory.bytes_in_use()) + " bytes of blocks are in use at the end";
  }
  return report;
}

}  // namespace beck::test
