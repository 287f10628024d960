// SPDX-License-Identifier: BSL-1.0
//
// What a debug build detects: one object used by two threads at once. A blocked synchronous read
// keeps a thread inside its socket for as long as the other needs.
#include <unistd.h>
#include <beck/io/cancel_after.hpp>
#include <chrono>
#include <future>

#include <beck/net/local.hpp>
#include <ostream>
#include <string>
#include <thread>
#include <type_traits>

#include "base/dies.hpp"
#include "base/sanitizers.hpp"
#include "base/use_check.hpp"
#include "io/op/descriptor.hpp"
#include "support/context_options.hpp"
#include "support/stream_pair.hpp"

using beck::test::kernel;
using beck::test::stream_pair;

namespace {

// Release builds neither have the check nor pay for it.
constexpr unsigned where_checked = std::is_empty_v<beck::detail::use_mark> ? 0u : unsigned{kernel};

constexpr unsigned seconds_max = 20;  // then the child is ended, and has not found anything

/// What a child process says in which a thread is blocked reading from a socket while `use` is
/// called with it again and again.
template <class Use>
std::string while_reading(Use use) {
  return dies_with([&use] {
    ::alarm(seconds_max);
    beck::io_context ctx(context_options());
    stream_pair pair(ctx);
    std::thread reader([&pair] {
      char byte;
      beck::error_code ec;
      pair.a.read_some(beck::buffer(&byte, 1), ec);
    });
    for (;;) use(pair.a);
  });
}

beck::detail::use_mark* use_mark_of(beck::test::stream_socket& socket) {
  return &socket.slot()->used;
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

CONFORMANCE_ON(where_checked, "a debug build names object and places if two threads use a socket") {
  // Where the parent has run virtual threads.
  if (beck::detail::thread_sanitizer)
    SKIP_CASE("ThreadSanitizer loses the threads of a child of fork");
  const std::string text = while_reading([](auto& socket) {
    beck::error_code ec;
    socket.cancel(ec);
  });
  CHECK(contains(text, "socket (descriptor "));
  CHECK(contains(text, ") is used by two threads at once: "));
  CHECK(contains(text, "cancel"));  // either may come second
  CHECK(contains(text, "read in") != contains(text, "in read;"));
}

CONFORMANCE_ON(where_checked, "an operation must not be started while another thread reads") {
  if (beck::detail::thread_sanitizer)
    SKIP_CASE("ThreadSanitizer loses the threads of a child of fork");
  char byte;
  const std::string text = while_reading([&byte](auto& socket) {
    socket.async_read_some(beck::buffer(&byte, 1), [](beck::error_code, std::size_t) {});
  });
  CHECK(contains(text, "read in thread "));
}

CONFORMANCE_ON(kernel, "synchronous reads, writes and shutdown may run beside each other") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::string got;
  std::thread reader([&] {
    beck::error_code ec;
    char byte;
    while (pair.a.read_some(beck::buffer(&byte, 1), ec) == 1) got += byte;
    CHECK(ec == beck::error::eof);
  });
  for (int i = 0; i < 100; ++i) CHECK(pair.a.write_some(beck::buffer("x", 1)) == 1);
  CHECK(pair.b.write_some(beck::buffer("yz", 2)) == 2);
  pair.a.shutdown(beck::test::stream_socket::shutdown_send);
  pair.b.shutdown(beck::test::stream_socket::shutdown_send);
  reader.join();
  CHECK(got == "yz");
}

CONFORMANCE_ON(where_checked,
               "a runner that starts a limited read is no second user of its socket") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  char byte;
  beck::error_code ended;
  pair.a.async_read_some(
      beck::buffer(&byte, 1),
      beck::cancel_after(std::chrono::hours(1),
                         [&ended](beck::error_code ec, std::size_t) { ended = ec; }));
  std::promise<void> inside;
  std::promise<void> started;
  std::thread user([&] {
    const beck::detail::object_use use(use_mark_of(pair.a), "socket", nullptr, "a function");
    inside.set_value();
    started.get_future().wait();
  });
  inside.get_future().wait();
  ctx.poll();
  started.set_value();
  user.join();
  pair.a.cancel();
  ctx.restart();
  ctx.run();
  CHECK(ended == beck::error::operation_aborted);
}
