// SPDX-License-Identifier: BSL-1.0
//
// The frame of the benchmark redis: callers that share one connection, each of which gets a value
// of 16 bytes, and again when it has it. The server is a program of its own (harness/redis.py),
// which has the value. Making the connection is no part of the measured time.
// In the case tcp-push each caller sends five PING and a PUBLISH at a time, and one subscriber of
// the same connection takes the messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "micro.hpp"

namespace bench {

class redis_calls {
 public:
  static constexpr std::string_view key = "k16";
  static constexpr std::string_view value = "0123456789abcdef";
  static constexpr std::string_view channel = "news";  // and `value` is its messages
  static constexpr int pings = 5;

  redis_calls(meter& m, std::size_t callers);

  [[nodiscard]] const settings& options() const { return meter_.options(); }
  [[nodiscard]] std::size_t callers() const { return callers_; }
  // Returns whether the connection is to a UNIX socket: options().path, else options().port.
  [[nodiscard]] bool is_local() const { return !options().path.empty(); }

  // Counts a reply. Fails the run unless it is the value. Returns whether its caller goes on.
  [[nodiscard]] bool take(std::string_view got) {
    require(got == value, "a reply is not the value");
    return !meter_.over(++done_);
  }
  // Counts a message of the subscriber. Fails the run unless it is the value.
  void take_message(std::string_view got) {
    require(got == value, "a message is not the value");
    ++messages_;
  }
  // Returns whether the subscriber has the message of each reply.
  [[nodiscard]] bool has_all_messages() const { return messages_ == done_; }
  [[nodiscard]] std::uint64_t done() const { return done_; }

  // Around the measured part: the connection is there, and all callers have ended.
  void start() { meter_.start(); }
  void finish() { meter_.finish(done_); }
  void note(const char* name, double figure) { meter_.note(name, figure); }

 private:
  meter& meter_;
  std::size_t callers_;
  std::uint64_t done_ = 0;
  std::uint64_t messages_ = 0;
};

// Runs the main program of a peer. Push: the case tcp-push, if the peer has it.
template <void (*Run)(redis_calls&), void (*Push)(redis_calls&) = nullptr>
int run_redis(int argc, char** argv) {
  constexpr auto with = []<std::size_t Callers>() {
    return [](meter& m) {
      redis_calls calls(m, Callers);
      Run(calls);
    };
  };
  constexpr auto push = [](meter& m) {
    redis_calls calls(m, 1000);
    require(Push != nullptr, "this peer has no subscriptions");
    if constexpr (Push != nullptr) Push(calls);
  };
  constexpr auto one = with.template operator()<1>();
  constexpr auto some = with.template operator()<50>();
  constexpr auto many = with.template operator()<1000>();
  return run_micro(argc, argv, "redis",
                   {{"tcp-1", one},
                    {"tcp-50", some},
                    {"tcp-1000", many},
                    {"tcp-push", push},
                    {"unix-1", one},
                    {"unix-50", some},
                    {"unix-1000", many}});
}

// Returns a blocking socket that is connected to the server.
int connect_to_redis(const redis_calls& calls);

}  // namespace bench
