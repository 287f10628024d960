// SPDX-License-Identifier: BSL-1.0
// The same headers in the namespace boost::asio.
#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

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
