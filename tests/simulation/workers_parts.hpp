// SPDX-License-Identifier: BSL-1.0
// What the workers do, part by part. Each part uses its objects as the library allows it: by one
// thread at a time, or through a strand.
#pragma once

#include <beck/coro/channel.hpp>
#include <beck/coro/mutex.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/stop_token.hpp>
#include <beck/run/strand.hpp>
#include <beck/testing/sim.hpp>
#include <cstddef>
#include <memory>

#include "simulation/oracles.hpp"

namespace beck::test {
using namespace detail;

using stream = local::stream_protocol::socket;

/// What all parts share.
struct workshop {
  workshop(testing::sim::world& world, io_context& on, bool with_faults)
      : ctx(on), random(world.random()), faults(with_faults) {}

  duration some_time() {
    constexpr std::uint64_t ns_max = 100'000;
    return duration(static_cast<std::int64_t>(random.below(ns_max)));
  }
  task<> wait();
  /// A part has come to its end.
  void finished() noexcept { ++parts_finished; }

  io_context& ctx;
  testing::sim::random_source& random;
  bool faults;  ///< TCP may break
  oracles rules;
  unsigned aborted = 0;
  unsigned thrown = 0;
  unsigned parts = 0;
  unsigned parts_finished = 0;
};

/// A strand that notices two at once: whoever is on it starts an operation, where other threads may
/// go on.
class watched_strand {
 public:
  using executor = strand<io_context::executor_type>;

  explicit watched_strand(workshop& in);
  const executor& on() const noexcept { return strand_; }
  /// By a handler of the strand: is there for a while.
  void visit();

 private:
  void enter() { in_.rules.expect(++inside_ == 1, "two were on a strand at once"); }
  void leave() { --inside_; }

  workshop& in_;
  executor strand_;
  stream noise_;
  stream listener_;
  unsigned inside_ = 0;
};

/// A client asks, a server repeats.
class conversation {
 public:
  conversation(workshop& in, std::uint64_t salt);
  void start();

 private:
  task<> serve();
  task<> ask();
  bool failed(const error_code& ec);

  workshop& in_;
  ip::tcp::acceptor acceptor_;
  ip::tcp::endpoint where_;
  judged_stream there_;
  judged_stream back_;
};

/// Several write messages to one socket and several read them from the other.
class crowd {
 public:
  explicit crowd(workshop& in);
  void start();

 private:
  static constexpr unsigned writers = 3, readers = 2;
  static constexpr std::size_t message_bytes = 12;

  task<> write(unsigned number);
  task<> read();
  void check(const char* message);

  workshop& in_;
  watched_strand strand_;
  stream out_;
  stream in_end_;
  unsigned writing_ = writers;
  unsigned reading_ = readers;
  unsigned sent_ = 0;
  unsigned got_ = 0;
};

/// A reader whose reads are cut short from elsewhere, by cancel and by stop requests.
class interrupted_reader {
 public:
  explicit interrupted_reader(workshop& in);
  void start();

 private:
  task<> write();
  task<> read();
  task<> disturb();

  workshop& in_;
  watched_strand strand_;
  stream out_;
  stream in_end_;
  judged_stream judged_;
  stop_source stop_;
  bool ended_ = false;
};

/// Operations that meet the cancel or the close of their object on another thread.
class short_life : public std::enable_shared_from_this<short_life> {
 public:
  explicit short_life(workshop& in);
  void start();

 private:
  void end_early();

  workshop& in_;
  stream a_;
  stream b_;
  char data_[8] = {};
  unsigned pending_ = 2;
};

/// A timer that is set, waited for and cancelled by several.
class shared_timer {
 public:
  explicit shared_timer(workshop& in);
  void start();

 private:
  task<> use(unsigned times);

  workshop& in_;
  watched_strand strand_;
  steady_timer timer_;
  unsigned using_ = 3;
};

/// Handlers that post others, some of which throw.
class chains {
 public:
  explicit chains(workshop& in);
  void start();

 private:
  void link(unsigned left);

  workshop& in_;
  watched_strand strand_;
  unsigned running_ = 4;
};

/// A handler that blocks until another one has done something.
class blocking_call {
 public:
  explicit blocking_call(workshop& in);
  void start();

 private:
  task<> ask();
  task<> answer();

  workshop& in_;
  stream asking_;
  stream answering_;
};

/// Values that go through a small channel, and tasks that wait for several at once.
class values {
 public:
  explicit values(workshop& in) : in_(in), passing_(concurrent, in.random.below(3)) {}
  void start();

 private:
  task<unsigned> send(unsigned count);
  task<unsigned> receive();
  task<> run();

  workshop& in_;
  channel<unsigned> passing_;
};

/// A mutex that coroutines on all threads want.
class wanted_mutex {
 public:
  explicit wanted_mutex(workshop& in) : in_(in), mutex_(concurrent) {}
  void start();

 private:
  task<> want(unsigned times);

  workshop& in_;
  mutex mutex_;
  unsigned holders_ = 0;
  unsigned wanting_ = 3;
};

/// What `chains` throws.
struct thrown_by_handler {};

}  // namespace beck::test
