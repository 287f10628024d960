// SPDX-License-Identifier: BSL-1.0
// Every order of up to seven steps of a session: exchanges, parts of writes and replies, pushes,
// cancellations, losses. Each exchange ends once, with its own replies or with a true outcome.
#include <doctest/doctest.h>

#include <ostream>
#include <string>
#include <vector>

#include "redis/scripted_redis.hpp"
#include "support/allocations.hpp"

using namespace beck::redis;
using namespace beck::redis::test;

namespace {

constexpr std::string_view steps = "swWrhpcClk";
constexpr std::string_view step_names[] = {
    "submit", "half a write",      "a whole write",     "reply", "half a reply",
    "push",   "cancel the oldest", "cancel the newest", "loss",  "reconnect"};

struct shape_of_exchange {
  std::string_view kinds;
  bool is_retryable;
};
constexpr shape_of_exchange shapes[] = {{"ss", false}, {"ggg", false}, {"gS", false},
                                        {"s", true},   {"Gg", false},  {"sgs", true}};

/// Bounds that two exchanges reach, with a guard behind so many commands.
detail::session_limits narrow(std::uint32_t guard = 0) {
  detail::session_limits most;
  most.in_flight = 4;
  most.slice_commands = 2;
  most.slice_bytes = 60;
  most.write_bytes = 100;
  most.gather_bytes = 60;
  most.attempts = 3;
  most.guard = guard;
  most.guard_seed = 7;
  return most;
}

/// Runs one order.
class order_run {
 public:
  order_run(std::size_t first_shape, std::uint32_t guard)
      : next_shape_(first_shape), redis_(narrow(guard)) {}

  /// Takes a step. Returns false if there is nothing to do for it.
  bool take(char step) {
    ++redis_.now;
    const bool is_done = is_here(step) && act(step);
    if (redis_.session.writer().in_flight() > narrow().in_flight)
      redis_.commands.fault("too many commands are in flight", 0);
    return is_done;
  }
  std::string verdict() {
    redis_.finish();
    if (redis_.pushes != std::vector<std::string>(pushes_sent_, push_text()))
      redis_.commands.fault("pushes were lost", 0);
    return redis_.verdict();
  }

 private:
  static std::string push_text() { return R"(>["hello"])"; }

  bool is_here(char step) const {
    return redis_.peer != nullptr ? step != 'k'
                                  : step == 's' || step == 'c' || step == 'C' || step == 'k';
  }
  bool act(char step) {
    switch (step) {
      case 's': {
        const shape_of_exchange& shape = shapes[next_shape_++ % std::size(shapes)];
        redis_.submit(shape.kinds, shape.is_retryable);
        return true;
      }
      case 'w':
      case 'W':
        return write(step == 'w');
      case 'r':
      case 'h':
        return answer(step == 'h');
      case 'p':
        return push();
      case 'c':
      case 'C':
        return cancel(step == 'c');
      case 'l':
        redis_.lose();
        return true;
      default:
        redis_.reconnect();
        return true;
    }
  }
  bool write(bool is_half) {
    if (redis_.is_writing) {
      if (!is_half) return false;  // the same as the other
      redis_.end_write();
      return true;
    }
    redis_.begin_write(is_half ? 37 : static_cast<std::size_t>(-1));
    if (redis_.is_writing && !is_half) redis_.end_write();
    return redis_.taken != 0;
  }
  bool answer(bool is_half) {
    if (!redis_.peer->has_unanswered()) return false;
    if (is_half && redis_.peer->is_inside_reply()) return false;
    redis_.answer(is_half ? 5 : static_cast<std::size_t>(-1));
    return true;
  }
  bool push() {
    if (redis_.peer->is_inside_reply() || pushes_sent_ == 1) return false;
    ++pushes_sent_;
    if (redis_.receive(">1\r\n$5\r\nhello\r\n")) redis_.commands.fault("a push was refused", 0);
    return true;
  }
  bool cancel(bool is_oldest) {
    scripted_exchange* found = nullptr;
    int live = 0;
    for (const auto& each : redis_.exchanges) {
      if (each->ended() != 0) continue;
      ++live;
      if (found == nullptr || !is_oldest) found = each.get();
    }
    if (found == nullptr || (live == 1 && !is_oldest)) return false;
    redis_.session.cancel(*found, cancelled());
    return true;
  }

  std::size_t next_shape_;
  std::size_t pushes_sent_ = 0;
  scripted_redis redis_;
};

/// Runs all orders of up to `depth` steps that begin with the exchange `shape`, with a guard behind
/// so many commands.
class all_orders {
 public:
  all_orders(std::size_t shape, std::size_t depth, std::uint32_t guard)
      : shape_(shape), depth_(depth), guard_(guard) {}

  /// Returns the first order with a fault, in words; empty if there is none.
  std::string search() {
    path_ = "s";  // nothing happens before
    while (!path_.empty()) {
      bool goes_on = true;
      std::string found = run(goes_on);
      if (!found.empty()) return found;
      if (goes_on && path_.size() < depth_) {
        path_ += steps.front();
      } else {
        next();
      }
    }
    return "";
  }
  std::size_t runs() const { return runs_; }

 private:
  std::string run(bool& goes_on) {
    order_run one(shape_, guard_);
    for (const char step : path_)
      if (!one.take(step)) goes_on = false;
    if (!goes_on) return "";
    ++runs_;
    const std::string fault = one.verdict();
    return fault.empty() ? "" : fault + " after " + words();
  }
  std::string words() const {
    std::string text;
    for (const char step : path_) text += std::string(step_names[steps.find(step)]) + ", ";
    return text + "the first exchange being " + std::string(shapes[shape_].kinds);
  }
  void next() {
    while (!path_.empty() && path_.back() == steps.back()) path_.pop_back();
    if (path_.size() <= 1) return path_.clear();
    path_.back() = steps[steps.find(path_.back()) + 1];
  }

  std::size_t shape_;
  std::size_t depth_;
  std::uint32_t guard_;
  std::size_t runs_ = 0;
  std::string path_;
};

}  // namespace

TEST_CASE("redis: every order of submit, write, reply, push, cancel and loss ends each once") {
  const std::size_t depth = beck::test::counts_allocations() ? 7 : 6;  // sanitizers are slow
  std::size_t runs = 0;
  for (std::size_t shape = 0; shape < std::size(shapes); ++shape) {
    for (const std::uint32_t guard : {0U, 2U}) {
      all_orders orders(shape, guard == 0 ? depth : depth - 1, guard);
      CHECK(orders.search() == "");
      runs += orders.runs();
    }
  }
  MESSAGE("orders: ", runs);
  CHECK(runs > 10'000);
}
