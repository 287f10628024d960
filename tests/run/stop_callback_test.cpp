// SPDX-License-Identifier: BSL-1.0
// A stop_callback that goes while it is being called.
#include <doctest/doctest.h>

#include <atomic>
#include <beck/run/stop_token.hpp>
#include <optional>
#include <thread>

#include "support/eventually.hpp"

using beck::stop_callback;
using beck::stop_source;
using beck::test::eventually;

namespace {

struct slow_call {
  std::atomic<bool> begun = false;
  std::atomic<bool> leaving = false;
  std::atomic<bool> over = false;

  void operator()() noexcept {
    begun = true;
    eventually([this] { return leaving.load(); });
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
    over = true;
  }
};

}  // namespace

TEST_CASE("a stop_callback that goes waits for its call on another thread") {
  for (int round = 0; round < 50; ++round) {
    slow_call call;
    const stop_source source;
    const auto run = [&call]() noexcept { call(); };
    std::optional<stop_callback<decltype(run)>> callback(std::in_place, source.get_token(), run);
    std::thread other([&source] { source.request_stop(); });
    CHECK(eventually([&] { return call.begun.load(); }));
    call.leaving = true;
    callback.reset();
    CHECK(call.over);
    other.join();
  }
}
