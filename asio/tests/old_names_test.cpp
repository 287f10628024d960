// SPDX-License-Identifier: BSL-1.0
// The names that Asio removed, with BECK_ASIO_OLD_NAMES.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include <asio.hpp>
#include <asio/io_service.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

CONFORMANCE_ON(::beck::test::kernel, "an io_service posts, dispatches, wraps and is kept by work") {
  asio::io_service io(context_options());
  std::string order;
  auto work = std::make_unique<asio::io_service::work>(io);
  CHECK(&work->get_io_service() == &io);
  io.post([&] {
    order += 'p';
    io.dispatch([&] { order += 'd'; });
    order += 'P';
  });
  auto wrapped =
      io.wrap([&](int n, const std::string& text) { order += std::to_string(n) + text; });
  wrapped(7, "w");
  CHECK(order.empty());
  asio::error_code ec = asio::error::eof;
  CHECK(io.poll(ec) > 0);
  CHECK_FALSE(ec);
  CHECK(order == "pdP7w");
  CHECK_FALSE(io.stopped());
  work.reset();
  io.run();
  CHECK(io.stopped());
  io.reset();
  CHECK_FALSE(io.stopped());
}

CONFORMANCE_ON(::beck::test::kernel, "a strand of an io_service keeps its handlers apart") {
  asio::io_service io(context_options());
  asio::io_service::strand strand(io);
  std::string order;
  auto wrapped =
      strand.wrap([&](asio::error_code) { order += strand.running_in_this_thread() ? 's' : '-'; });
  asio::steady_timer timer(io);
  CHECK(timer.expires_from_now(asio::chrono::milliseconds(1)) == 0);
  CHECK(timer.expires_from_now() < asio::chrono::seconds(1));
  CHECK(timer.expires_at() == timer.expiry());
  timer.async_wait(wrapped);
  strand.post([&] { order += 'p'; });
  io.run();
  CHECK(order == "ps");
}

TEST_CASE("buffers have their old names") {
  char data[4] = {'a', 'b', 'c', 'd'};
  const asio::mutable_buffers_1 all = asio::buffer(data);
  CHECK(asio::buffer_cast<char*>(all) == data);
  const asio::const_buffers_1 read_only = all;
  CHECK(*asio::buffer_cast<const char*>(read_only) == 'a');
}
