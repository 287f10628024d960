// SPDX-License-Identifier: BSL-1.0
// An error that is thrown names the operation that failed, in the words of the synchronous forms:
// out of an awaitable, and by value() in a task.
#include <beck/coro/channel.hpp>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/io/read_until.hpp>
#include <beck/net/connect.hpp>
#include <beck/net/connect_race.hpp>
#include <beck/net/resolver.hpp>
#include <beck/net/udp.hpp>
#include <beck/run/as_tuple.hpp>
#include <beck/run/redirect_error.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "support/connecting.hpp"
#include "support/context_options.hpp"
#include "support/file_place.hpp"
#include "support/stream_pair.hpp"

using beck::awaitable;
using beck::buffer;
using beck::ip::tcp;
using beck::test::deaf_port;
using beck::test::run_task;
using beck::test::stream_pair;
using beck::test::stream_socket;
using namespace std::chrono_literals;

namespace {

/// What `work` throws.
template <class Work>
std::string thrown_by(beck::io_context& ctx, Work work) {
  std::string text = "nothing was thrown";
  bool ended = false;
  beck::co_spawn(ctx, std::move(work), [&](std::exception_ptr error) {
    ended = true;
    try {
      if (error) std::rethrow_exception(error);
    } catch (const beck::io_error& e) {
      text = e.what();
      CHECK(text.find(e.operation()) == 0);
    } catch (const std::exception& e) {
      text = std::string("not an io_error: ") + e.what();
    }
  });
  ctx.run();
  ctx.restart();
  CHECK(ended);
  return text;
}

}  // namespace

CONFORMANCE("a refused connect says so in an awaitable, by value(), and by a range and a race") {
  beck::io_context ctx(context_options());
  const deaf_port nobody(ctx);
  tcp::socket socket(ctx);
  const std::string expected = "connect: Connection refused";
  std::string synchronous;
  try {
    tcp::socket(ctx).connect(nobody);
  } catch (const beck::io_error& e) {
    synchronous = e.what();
  }
  const tcp::endpoint there = nobody;
  const std::string place(there.to_text().c_str());
  CHECK(synchronous == "connect \"" + place + "\": Connection refused");
  CHECK(thrown_by(ctx, [&]() -> awaitable<> { co_await socket.async_connect(nobody); }) ==
        expected);
  socket.close();
  CHECK(thrown_by(ctx, [&]() -> beck::task<> {
          (co_await socket.async_connect(nobody)).value();
        }) == expected);
  socket.close();
  CHECK(thrown_by(ctx, [&]() -> beck::task<> {
          co_await socket.async_connect(nobody, beck::use_awaitable);
        }) == expected);
  const std::vector<tcp::endpoint> two{nobody, nobody};
  CHECK(thrown_by(ctx, [&]() -> awaitable<> { co_await beck::async_connect(socket, two); }) ==
        expected);
}

CONFORMANCE("reads and writes name themselves, and count the bytes that they have moved") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  char data[8];
  pair.b.write_some(buffer("abc", 3));
  pair.b.shutdown(stream_socket::shutdown_send);
  CHECK(thrown_by(ctx, [&]() -> awaitable<> { co_await beck::async_read(pair.a, buffer(data)); }) ==
        "read, after 3 bytes: End of file");
  CHECK(thrown_by(ctx, [&]() -> awaitable<> { co_await pair.a.async_read_some(buffer(data)); }) ==
        "read_some: End of file");
  CHECK(thrown_by(ctx, [&]() -> awaitable<> {
          std::string text;
          co_await beck::async_read_until(pair.a, beck::dynamic_buffer(text), '\n');
        }) == "read_until: End of file");
  CHECK(thrown_by(ctx, [&]() -> awaitable<> {
          const std::vector<beck::mutable_buffer> parts{buffer(data, 4), buffer(data + 4, 4)};
          co_await beck::async_read(pair.a, parts);
        }) == "read: End of file");
  pair.b.close();
  CHECK(thrown_by(ctx, [&]() -> awaitable<> {
          co_await beck::async_write(pair.a, buffer("x", 1));
        }) == "write: Broken pipe");
}

CONFORMANCE("a time limit names the operation that it ended") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  char data[8];
  beck::channel<int> numbers(1);
  CHECK(thrown_by(ctx, [&]() -> awaitable<> {
          co_await beck::timeout(pair.a.async_read_some(buffer(data)), 1ms);
        }) == "read_some: Deadline passed");
  CHECK(thrown_by(ctx, [&]() -> awaitable<> {
          co_await beck::timeout(numbers.async_receive(), 1ms);
        }) == "channel receive: Deadline passed");
}

CONFORMANCE("accepts, waits, channels and lookups name themselves") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, beck::test::loopback_v4());
  beck::steady_timer timer(ctx, 1h);
  beck::channel<int> numbers(1);
  numbers.close();
  CHECK(thrown_by(ctx, [&]() -> awaitable<> {
          beck::post(ctx, [&] { acceptor.cancel(); });
          co_await acceptor.async_accept();
        }) == "accept: Operation canceled");
  CHECK(thrown_by(ctx, [&]() -> awaitable<> {
          beck::post(ctx, [&] { timer.cancel(); });
          co_await timer.async_wait();
        }) == "wait: Operation canceled");
  CHECK(thrown_by(ctx, [&]() -> awaitable<> { co_await numbers.async_receive(); }) ==
        "channel receive: Channel closed");
  tcp::resolver resolver(ctx);
  const std::string nul("a\0b", 3);
  CHECK(thrown_by(ctx, [&]() -> awaitable<> {
          co_await resolver.async_resolve(nul, "80");
        }).find("resolve: ") == 0);
}

CONFORMANCE("calls on files name themselves") {
  beck::io_context ctx(context_options());
  const beck::test::file_place place(where);
  beck::random_access_file file(ctx);
  CHECK(thrown_by(ctx, [&]() -> awaitable<> {
          co_await file.async_open(place.path("missing").c_str(), beck::file_object::read_only);
        }) == "open: No such file or directory");
  char data[8];
  CHECK(thrown_by(ctx, [&]() -> awaitable<> {
          co_await file.async_read_some_at(0, buffer(data));
        }) == "read_some_at: Bad file descriptor");
  CHECK(thrown_by(ctx, [&]() -> awaitable<> {
          co_await beck::async_write_at(file, 0, buffer(data));
        }) == "write_at: Bad file descriptor");
}

CONFORMANCE("the error of structured bindings knows the operation, and is an error_code") {
  beck::io_context ctx(context_options());
  const deaf_port nobody(ctx);
  tcp::socket socket(ctx);
  std::string name;
  bool refused = false;
  beck::error_code kept;
  run_task(ctx, [&]() -> beck::task<> {
    const auto [ec] = co_await socket.async_connect(nobody);
    name = ec.operation();
    refused = ec == beck::error::connection_refused;
    kept = ec;
  });
  CHECK(name == "connect");
  CHECK(refused);
  CHECK(kept == beck::error::connection_refused);
}
