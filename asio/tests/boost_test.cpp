// SPDX-License-Identifier: BSL-1.0
// The same headers in the namespace boost::asio.
#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/system_timer.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

namespace {
int waits = 0;
}  // namespace

// The only source of its program that uses timers of this clock.
template <>
struct boost::asio::wait_traits<std::chrono::system_clock> {
  using clock = std::chrono::system_clock;
  static clock::duration to_wait_duration(const clock::time_point&) {
    ++waits;
    return clock::duration(1);
  }
  static clock::duration to_wait_duration(const clock::duration& d) { return d; }
};

CONFORMANCE_ON(::beck::test::kernel, "boost::asio is the facade in Boost's namespace") {
  boost::asio::io_context context(context_options());
  int calls = 0;
  boost::asio::steady_timer timer(context, std::chrono::milliseconds(1));
  timer.async_wait([&](auto ec) { calls += ec ? 0 : 1; });
  boost::asio::post(context, [&] { calls += 10; });
  context.run();
  CHECK(calls == 11);
  CHECK(timer.expiry() <= std::chrono::steady_clock::now());
}

CONFORMANCE_ON(::beck::test::kernel, "wait_traits of a clock of std::chrono can be specialised") {
  boost::asio::io_context context(context_options());
  waits = 0;
  boost::asio::system_timer timer(context, std::chrono::milliseconds(1));
  bool is_over = false;
  timer.async_wait([&](auto ec) { is_over = !ec; });
  context.run();
  CHECK(is_over);
  CHECK(waits > 0);
}
