// SPDX-License-Identifier: BSL-1.0
// A mix of the parts, and a thread that runs them in every way there is.
#include "simulation/workers.hpp"

#include <beck/coro/co_spawn.hpp>
#include <beck/run/post.hpp>
#include <deque>
#include <optional>

#include "simulation/workers_parts.hpp"

namespace beck::test {
using namespace detail;
namespace {

using testing::sim::fault;

constexpr unsigned threads_max = workers_result::threads;
constexpr unsigned stops_max = 3;

class mix {
 public:
  mix(testing::sim::world& world, io_context& ctx, bool faults)
      : in_(world, ctx, faults), ctx_(ctx) {}

  void run() {
    fill();
    begin();
    while (!run_for_a_while()) {}
    in_.rules.expect_all_completed();
    in_.rules.expect(in_.parts_finished == in_.parts, "work ran out before all parts had ended");
    in_.rules.expect(caught_ == in_.thrown, "an exception did not leave run()");
  }
  void tell(workers_result& result) const {
    result.broken = in_.rules.report();
    result.operations = in_.rules.operations();
    result.aborted = in_.aborted;
    result.thrown = in_.thrown;
    result.stops = stops_;
  }

 private:
  /// Around somebody who blocks it is quiet: else another thread is always at hand.
  bool wanted() { return in_.random.chance(blocks_ ? 0.2 : 0.5); }

  void fill() {
    blocks_ = in_.random.chance(0.25);
    for (std::uint64_t left = wanted() ? 1 + in_.random.below(2) : 0; left != 0; --left)
      talking_.emplace_back(in_, left);
    if (wanted()) crowd_.emplace(in_);
    if (wanted()) reader_.emplace(in_);
    if (wanted()) timer_.emplace(in_);
    if (wanted()) mutex_.emplace(in_);
    if (wanted()) values_.emplace(in_);
    if (blocks_) {
      for (std::uint64_t left = 1 + in_.random.below(threads_max - 1); left != 0; --left)
        blocking_.emplace_back(in_);
    } else if (wanted()) {
      chains_.emplace(in_);
    }
  }

  void begin() {
    for (conversation& one : talking_) one.start();
    if (crowd_) crowd_->start();
    if (reader_) reader_->start();
    if (timer_) timer_->start();
    if (chains_) chains_->start();
    if (mutex_) mutex_->start();
    if (values_) values_->start();
    for (blocking_call& one : blocking_) one.start();
    for (std::uint64_t left = wanted() ? in_.random.below(12) : 0; left != 0; --left) {
      post(ctx_, [this] { std::make_shared<short_life>(in_)->start(); });
    }
    if (blocks_) return;
    for (std::uint64_t left = in_.random.below(stops_max); left != 0; --left) {
      co_spawn(ctx_, stop_later(), detached);
    }
  }

  task<> stop_later() {
    co_await in_.wait();
    ++stops_;
    stopping_ = true;
    ctx_.stop();
  }

  /// True: work has run out.
  bool run_for_a_while() {
    try {
      switch (blocks_ ? 0 : in_.random.below(8)) {
        case 1:
          ctx_.run_one();
          break;
        case 2:
          ctx_.poll();
          break;
        case 3:
          ctx_.run_for(in_.some_time());
          break;
        default:
          ctx_.run();
          break;
      }
    } catch (const thrown_by_handler&) {
      ++caught_;
      return false;
    }
    if (!ctx_.stopped()) return false;
    if (!stopping_) return true;
    stopping_ = false;
    ctx_.restart();
    return false;
  }

  workshop in_;
  io_context& ctx_;
  std::deque<conversation> talking_;
  std::optional<crowd> crowd_;
  std::optional<interrupted_reader> reader_;
  std::optional<shared_timer> timer_;
  std::optional<chains> chains_;
  std::optional<wanted_mutex> mutex_;
  std::optional<values> values_;
  std::deque<blocking_call> blocking_;
  bool blocks_ = false;  // threads in handlers: then none may leave the others alone
  unsigned caught_ = 0;
  unsigned stops_ = 0;
  bool stopping_ = false;
};

}  // namespace

workers_result run_workers(testing::sim::world& world) {
  auto how = testing::sim::settings();
  const bool faults = world.random().chance(0.5);
  if (faults) how.with(testing::sim::faults().set(fault::tiny_buffers, 0));
  if (world.random().chance(0.25)) how.buffer_sizes(24, 24);
  world.configure(how);
  workers_result result;
  io_context ctx(world.host("one").options({.threads = workers_result::threads}));
  ctx.on_log([](const char*, void*) {});  // of acceptors that find no descriptor
  {
    mix all(world, ctx, faults);
    all.run();
    all.tell(result);
  }
  result.outstanding = ctx.stats().outstanding;
  result.next_descriptor = ip::tcp::socket(ctx, ip::tcp::v4()).native_handle();
  return result;
}

std::string workers_result::report() const {
  if (!broken.empty()) return broken;
  if (outstanding != 0) return "operations are left";
  if (next_descriptor != 1000) return "a descriptor is left open";
  return {};
}

std::string workers_program(testing::sim::world& world) { return run_workers(world).report(); }

}  // namespace beck::test
