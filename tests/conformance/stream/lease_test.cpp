// SPDX-License-Identifier: BSL-1.0
//
// async_receive: the context lends a buffer when there is data. What a lease is, its place among
// other reads, the end of the stream, errors and cancellation: no byte is lost.
#include <beck/coro/timeout.hpp>
#include <beck/io/buffer_lease.hpp>
#include <beck/io/write_queue.hpp>
#include <beck/net/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::test::pattern;
using beck::test::pause;
using beck::test::run_task;
using beck::test::stream_pair;
using beck::test::stream_socket;

namespace {

std::string text_of(const beck::buffer_lease& lease) {
  return std::string(lease.data() != nullptr ? lease.data() : "", lease.size());
}

beck::task<> send_text(stream_socket& to, std::string text) {
  CHECK_FALSE((co_await beck::async_write(to, beck::buffer(text))).error());
}

// Leases until there is nothing more; gives the error that ended it.
beck::task<beck::error_code> receive_all(stream_socket& from, std::string& into) {
  for (;;) {
    auto r = co_await beck::async_receive(from);
    if (!r) co_return r.error();
    CHECK(r->size() > 0);
    into += text_of(*r);
  }
}

}  // namespace

CONFORMANCE("a receive lends a buffer with what has arrived") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  auto work = [&]() -> beck::task<> {
    co_await send_text(pair.a, "hello");
    auto r = co_await beck::async_receive(pair.b);
    CHECK_FALSE(r.error());
    beck::buffer_lease lease = std::move(r).value();
    CHECK(text_of(lease) == "hello");
    CHECK(beck::const_buffer(lease).size() == 5);
    lease.data()[0] = 'j';
    CHECK_FALSE((co_await beck::async_write(pair.b, beck::const_buffer(lease))).error());
    lease.reset();
    CHECK(lease.empty());
    CHECK(lease.data() == nullptr);
    auto back = co_await beck::async_receive(pair.a);
    CHECK(text_of(*back) == "jello");
  };
  run_task(ctx, work);
  CHECK(ctx.stats().leases == 2);
}

CONFORMANCE("a receive waits for data, with a callback, and is never called inside its start") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::string received;
  bool started = false;
  beck::async_receive(pair.b, [&](beck::error_code ec, beck::buffer_lease lease) {
    CHECK(started);
    CHECK_FALSE(ec);
    received = text_of(lease);
  });
  started = true;
  ctx.poll();
  CHECK(received.empty());
  CHECK(ctx.stats().leases == 0);
  pair.a.async_write_some(beck::buffer("late", 4), beck::detached);
  ctx.restart();
  ctx.run();
  CHECK(received == "late");
}

CONFORMANCE("a receive gives at most a buffer, and the rest to the next ones, in order") {
  beck::io_context ctx(context_options({.lease_count = 4, .lease_bytes = 100}));
  stream_pair pair(ctx);
  const std::string sent = pattern(100'000);
  std::string received;
  auto work = [&]() -> beck::task<> {
    beck::co_spawn(
        ctx,
        [&]() -> beck::task<> {
          co_await send_text(pair.a, sent);
          pair.a.close();
        },
        beck::detached);
    for (;;) {
      auto r = co_await beck::async_receive(pair.b);
      if (!r) {
        CHECK(r.error() == beck::error::eof);
        break;
      }
      CHECK(r->size() <= 100);
      received += text_of(*r);
    }
  };
  run_task(ctx, work);
  CHECK(received == sent);
}

// AddressSanitizer sees each byte behind a buffer that belongs to none or to a buffer in the pool.
CONFORMANCE("the bytes behind each lent buffer may be read") {
  beck::io_context ctx(context_options({.lease_count = 8, .lease_bytes = 100}));
  stream_pair pair(ctx);
  const std::string sent = pattern(800);
  unsigned sum = 0;
  auto work = [&]() -> beck::task<> {
    co_await send_text(pair.a, sent);
    std::vector<beck::buffer_lease> held;
    while (held.size() < 8) {
      auto r = co_await beck::async_receive(pair.b);
      REQUIRE(r);
      const char* const behind = r->data() + r->size();
      for (std::size_t i = 0; i < beck::buffer_lease::padding; ++i)
        sum += static_cast<unsigned char>(behind[i]) | 1U;
      held.push_back(std::move(r).value());
      if (held.size() % 3 == 0) held.front().reset();
    }
  };
  run_task(ctx, work);
  CHECK(sum >= 8 * beck::buffer_lease::padding);
}

CONFORMANCE("eof comes after all bytes, as often as it is asked for, and holds no buffer") {
  beck::io_context ctx(context_options({.lease_count = 1, .lease_bytes = 4096}));
  stream_pair pair(ctx);
  std::string received;
  auto work = [&]() -> beck::task<> {
    co_await send_text(pair.a, "last words");
    pair.a.close();
    CHECK(co_await receive_all(pair.b, received) == beck::error::eof);
    for (int i = 0; i < 3; ++i) {
      auto again = co_await beck::async_receive(pair.b);
      CHECK(again.error() == beck::error::eof);
    }
  };
  run_task(ctx, work);
  CHECK(received == "last words");
}

CONFORMANCE("a reset is told after what came before it") {
  beck::io_context ctx(context_options());
  beck::test::tcp_connection pair(ctx);
  auto work = [&]() -> beck::task<> {
    pair.client.set_option(beck::socket_base::linger(true, 0));
    pair.client.close();
    auto r = co_await beck::async_receive(pair.server);
    CHECK(r.error() == beck::error::connection_reset);
  };
  run_task(ctx, work);
}

CONFORMANCE("receives and reads of one stream complete in the order of their start") {
  beck::io_context ctx(context_options({.lease_count = 8, .lease_bytes = 3}));
  stream_pair pair(ctx);
  std::string order;
  char space[2];
  beck::async_receive(
      pair.b, [&](beck::error_code, beck::buffer_lease lease) { order += text_of(lease) + '|'; });
  pair.b.async_read_some(beck::buffer(space), [&](beck::error_code, std::size_t n) {
    order += std::string(space, n) + '|';
  });
  beck::async_receive(
      pair.b, [&](beck::error_code, beck::buffer_lease lease) { order += text_of(lease) + '|'; });
  beck::async_write(pair.a, beck::buffer("abcdefgh", 8), beck::detached);
  ctx.run();
  CHECK(order == "abc|de|fgh|");
}

CONFORMANCE("a stream may change between leases, reads into buffers and synchronous ones") {
  beck::io_context ctx(context_options({.lease_count = 8, .lease_bytes = 700}));
  stream_pair pair(ctx);
  const std::string sent = pattern(50'000);
  std::string received;
  auto work = [&]() -> beck::task<> {
    co_await send_text(pair.a, sent);
    pair.a.close();
    pair.b.non_blocking(true);
    std::vector<char> room(333);
    for (int turn = 0;; ++turn) {
      std::size_t n = 0;
      beck::error_code ec;
      if (turn % 3 == 0) {
        auto r = co_await beck::async_receive(pair.b);
        ec = r.error();
        if (r) received += text_of(*r);
      } else if (turn % 3 == 1) {
        const auto r = co_await pair.b.async_read_some(beck::buffer(room));
        ec = r.error();
        n = ec ? 0 : r.value();
      } else {
        n = pair.b.read_some(beck::buffer(room), ec);
        if (ec == beck::error::would_block) ec = beck::error_code();
      }
      received.append(room.data(), n);
      if (ec) break;
    }
  };
  beck::co_spawn(ctx, work(), beck::detached);
  ctx.run();
  CHECK(received == sent);
}

CONFORMANCE(
    "a receive that is cancelled ends with operation_aborted, and the bytes are still there") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  int aborted = 0;
  for (int i = 0; i < 3; ++i) {
    beck::async_receive(pair.b, [&](beck::error_code ec, beck::buffer_lease lease) {
      CHECK(ec == beck::error::operation_aborted);
      CHECK(lease.empty());
      ++aborted;
    });
  }
  ctx.poll();
  pair.b.cancel();
  ctx.restart();
  ctx.run();
  CHECK(aborted == 3);
  ctx.restart();
  auto work = [&]() -> beck::task<> {
    co_await send_text(pair.a, "here");
    auto r = co_await beck::async_receive(pair.b);
    CHECK(text_of(*r) == "here");
  };
  run_task(ctx, work);
}

CONFORMANCE("a receive with a time limit loses nothing, whenever the limit strikes") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  const std::string sent = pattern(3000);
  std::string received;
  int limits = 0;
  auto writer = [&]() -> beck::task<> {
    for (std::size_t at = 0; at < sent.size(); at += 10) {
      CHECK_FALSE((co_await beck::async_write(pair.a, beck::buffer(sent.data() + at, 10))).error());
      co_await pause(ctx, 100us);
    }
    pair.a.close();
  };
  auto reader = [&]() -> beck::task<> {
    for (;;) {
      auto r = co_await beck::timeout(beck::async_receive(pair.b), 100us);
      if (r.error() == beck::error::timeout) {
        ++limits;
      } else if (r.error()) {
        break;
      } else {
        received += text_of(*r);
      }
    }
  };
  beck::co_spawn(ctx, writer(), beck::detached);
  beck::co_spawn(ctx, reader(), beck::detached);
  ctx.run();
  CHECK(received == sent);
}

CONFORMANCE("closing ends receives that wait, and leases stay valid") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::buffer_lease kept;
  bool aborted = false;
  auto work = [&]() -> beck::task<> {
    co_await send_text(pair.a, "kept");
    kept = (co_await beck::async_receive(pair.b)).value();
    beck::async_receive(pair.b, [&](beck::error_code ec, beck::buffer_lease) {
      CHECK(ec == beck::error::operation_aborted);
      aborted = true;
    });
    co_await pause(ctx, 1ms);
    pair.b.close();
    co_await pause(ctx, 1ms);
    CHECK(aborted);
    auto r = co_await beck::async_receive(pair.b);
    CHECK(r.error() == beck::error::bad_descriptor);
  };
  run_task(ctx, work);
  CHECK(text_of(kept) == "kept");
}

CONFORMANCE("a released descriptor has all bytes that no receive has given") {
  if (where == beck::test::on_sim) SKIP_CASE("simulated descriptors cannot be assigned");
  beck::io_context ctx(context_options({.lease_count = 4, .lease_bytes = 4}));
  stream_pair pair(ctx);
  auto work = [&]() -> beck::task<> {
    co_await send_text(pair.a, "0123456789");
    CHECK(text_of((co_await beck::async_receive(pair.b)).value()) == "0123");
    beck::async_receive(pair.b, [&](beck::error_code, beck::buffer_lease) {});
    stream_socket other(ctx);
    co_await pause(ctx, 1ms);  // that receive has had four more
    other.assign(beck::local::stream_protocol(), pair.b.release());
    CHECK(text_of((co_await beck::async_receive(other)).value()) == "89");
  };
  run_task(ctx, work);
}

CONFORMANCE("a connection whose receive waits holds no buffer") {
  beck::io_context ctx(context_options({.lease_count = 1, .lease_bytes = 4096}));
  std::vector<std::unique_ptr<stream_pair>> idle;
  for (int i = 0; i < 50; ++i) {
    idle.push_back(std::make_unique<stream_pair>(ctx));
    beck::async_receive(idle.back()->b, [](beck::error_code ec, beck::buffer_lease) {
      CHECK(ec == beck::error::operation_aborted);
    });
  }
  ctx.poll();
  stream_pair pair(ctx);
  auto work = [&]() -> beck::task<> {  // the only buffer is free
    co_await send_text(pair.a, "x");
    CHECK(text_of((co_await beck::async_receive(pair.b)).value()) == "x");
    for (auto& each : idle) each->b.close();
  };
  run_task(ctx, work);
  CHECK(ctx.stats().lease_waits == 0);
}

CONFORMANCE("an echo of leases through a write_queue returns every byte") {
  beck::io_context ctx(context_options({.lease_count = 4, .lease_bytes = 512}));
  stream_pair pair(ctx);
  const std::string sent = pattern(200'000);
  std::string received;
  auto server = [&]() -> beck::task<> {
    beck::write_queue out(pair.b, 10'000);
    for (;;) {
      auto r = co_await beck::async_receive(pair.b);
      if (!r) break;
      CHECK_FALSE((co_await out.async_push(*r)).error());
    }
    CHECK_FALSE((co_await out.async_drain()).error());
    pair.b.close();
  };
  auto writer = [&]() -> beck::task<> {
    co_await send_text(pair.a, sent);
    pair.a.shutdown(stream_socket::shutdown_send);
  };
  beck::co_spawn(ctx, server(), beck::detached);
  beck::co_spawn(ctx, writer(), beck::detached);
  auto reader = [&]() -> beck::task<> { beck::ignore(co_await receive_all(pair.a, received)); };
  run_task(ctx, reader());
  CHECK(received == sent);
}
