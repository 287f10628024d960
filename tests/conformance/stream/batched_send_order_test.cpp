// SPDX-License-Identifier: BSL-1.0
//
// Small sends while many sockets are busy, which io_uring batches: whatever else a handler does
// finds them made, as on the backends that send at once.
#include <array>
#include <beck/coro/task.hpp>
#include <beck/io/sync_wait.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/thread_pool.hpp>
#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "support/busy_crowd.hpp"
#include "support/child.hpp"
#include "support/connections.hpp"
#include "support/context_options.hpp"

namespace {

using beck::test::arrived;
using beck::test::crowd;
using beck::test::note;
using beck::test::outcome;

constexpr int many = 20;

bool batches(const beck::io_context& ctx) {
  return ctx.backend_in_use() == beck::backend::io_uring;
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel, "a socket that is closed behind its send has sent") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  all.play([&](int i) {
    all.send(i, "abc");
    all.end(i).close();
  });
  for (int i = 0; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(arrived(all.fd(i)) == "abc");
  }
}

CONFORMANCE_ON(beck::test::kernel, "a socket that is destroyed behind its send has sent") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  all.play([&](int i) {
    all.send(i, "abc");
    const beck::test::stream_socket last = std::move(all.end(i));
  });
  for (int i = 0; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(arrived(all.fd(i)) == "abc");
  }
}

CONFORMANCE_ON(beck::test::kernel, "a cancellation behind a send finds it done") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  beck::cancellation_signal signals[many];
  all.play([&](int i) {
    if (i % 2 == 0) {
      all.send(i, "abc");
      all.end(i).cancel();
      return;
    }
    async_write(all.end(i), beck::buffer("abc", 3),
                beck::bind_cancellation_slot(signals[i].slot(), note(all.sent_by(i))));
    signals[i].emit(beck::cancellation_type::terminal);
  });
  for (int i = 0; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(arrived(all.fd(i)) == "abc");
  }
}

CONFORMANCE_ON(beck::test::kernel, "a socket released or shut down behind its send has sent") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  int released[many];
  all.play([&](int i) {
    all.send(i, "abc");
    if (i % 2 == 0) {
      released[i] = all.end(i).release();
    } else {
      all.end(i).shutdown(beck::test::stream_socket::shutdown_send);
    }
  });
  for (int i = 0; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(arrived(all.fd(i)) == "abc");
    if (i % 2 == 0) ::close(released[i]);
  }
}

CONFORMANCE_ON(beck::test::kernel, "several sends on one socket are in order, and all are made") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  outcome second[many];
  outcome third[many];
  const auto grown = all.play([&](int i) {
    all.send(i, "a");
    async_write(all.end(i), beck::buffer("b", 1), note(second[i]));
    const std::array<beck::const_buffer, 2> parts{beck::buffer("c", 1), beck::buffer("d", 1)};
    async_write(all.end(i), parts, note(third[i]));
    CHECK(arrived(all.fd(i)) == "abcd");
  });
  if (batches(ctx)) CHECK(grown.sends_batched == 2 * many);
  for (int i = 0; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(second[i].ok());
    CHECK(third[i].ok());
  }
}

CONFORMANCE_ON(beck::test::kernel,
               "a second send on the socket of the last one of a batch is made") {
  for (const char* behind : {"close", "cancel", "shutdown", "write", "stop"}) {
    beck::io_context ctx(context_options());
    crowd all(ctx, 64);  // as many as may wait
    outcome second;
    all.play([&](int i) {
      all.send(i, "a");
      if (i != 63) return;
      auto& last = all.end(63);
      const std::string what = behind;
      async_write(last, beck::buffer("b", 1), note(second));
      if (what == "close") last.close();
      if (what == "cancel") last.cancel();
      if (what == "shutdown") last.shutdown(beck::socket_base::shutdown_send);
      if (what == "write") last.write_some(beck::buffer("s", 1));
      if (what == "stop") ctx.stop();
    });
    CHECK(arrived(all.fd(63)) == (std::string(behind) == "write" ? "abs" : "ab"));
    beck::test::run_all(ctx);
    CHECK(second.ok());
    CHECK(all.sent_by(63).ok());
  }
}

CONFORMANCE_ON(beck::test::kernel,
               "a send is made before its socket is closed though the budget is spent") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  beck::test::stream_pair other(ctx);
  const std::string large(5000, 'l');
  constexpr int calls = 20;  // more than the budget of a handler allows
  std::deque<outcome> noted(many * calls);
  std::string room(large.size() * noted.size(), '\0');
  outcome read;
  async_read(other.b, beck::buffer(room), note(read));
  std::size_t n = 0;
  all.play([&](int i) {
    all.send(i, "abc");
    for (int k = 0; k < calls; ++k) async_write(other.a, beck::buffer(large), note(noted[n++]));
    i % 2 == 0 ? all.end(i).close() : all.end(i).cancel();
  });
  CHECK(read.ok());
  for (int i = 0; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(arrived(all.fd(i)) == "abc");
  }
}

CONFORMANCE_ON(beck::test::kernel, "sends from outside of run() do not wait for it") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  beck::test::stream_pair other(ctx);
  const int other_fd = other.b.native_handle();
  outcome late;
  all.prepare([&](int i) {
    if (i != many - 1) return;
    std::thread([&] { other.a.async_write_some(beck::buffer("abc", 3), note(late)); }).join();
    ctx.stop();
  });
  beck::test::run_until(ctx, [&] { return ctx.stopped(); });
  CHECK(arrived(other_fd) == "abc");
  beck::test::run_all(ctx);
  CHECK(late.ok());
}

CONFORMANCE_ON(beck::test::kernel, "a task on a pool that a handler waits for finds its send") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  beck::thread_pool pool(1);
  all.play([&](int i) {
    all.send(i, "abc");
    auto look = [&]() -> beck::task<std::string> { co_return arrived(all.fd(i)); };
    CHECK(beck::sync_wait(pool, look) == "abc");
  });
  for (int i = 0; i < many; ++i) CHECK(all.sent_by(i).ok());
}

CONFORMANCE_ON(beck::test::kernel, "a handler that waits in another context has sent before") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  beck::io_context inner(context_options());
  int received = 0;
  beck::test::stream_socket there(inner, beck::local::stream_protocol(), ::dup(all.fd(0)));
  all.play([&](int i) {
    char room[10];
    if (i != 0) return;
    // every time by another call that may wait
    for (int k = 0; k < 4; ++k) {
      outcome read;
      all.send(0, "abc");
      switch (k) {
        case 0:
          received += there.read_some(beck::buffer(room)) == 3;
          break;
        case 1:
          received += there.available() == 3;
          there.read_some(beck::buffer(room));
          break;
        case 2:
          there.async_read_some(beck::buffer(room), note(read));
          beck::test::let_settle(inner);
          received += read.ok();
          break;
        default:
          inner.restart();
          beck::test::run_task(inner, [&]() -> beck::task<> {
            const auto [ec, bytes] = co_await there.async_read_some(beck::buffer(room));
            received += bytes == 3;
          });
      }
    }
  });
  CHECK(received == 4);
}

CONFORMANCE_ON(beck::test::kernel, "a nested run_one() has sent when it returns") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  bool nested = false;
  int last = -1;
  all.play([&](int i) {
    last = i;
    all.send(i, "abc");
    if (nested) return;
    nested = true;
    REQUIRE(ctx.run_one() == 1);
    CHECK(arrived(all.fd(last)) == "abc");
  });
  CHECK(last > 0);
}

CONFORMANCE_ON(beck::test::kernel, "a synchronous call comes behind all sends that were started") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  all.play([&](int i) {
    all.send(i, "abc");
    all.end(many - 1 - i).write_some(beck::buffer("s", 1));
    CHECK(arrived(all.fd(i)).find("abc") != std::string::npos);
  });
  for (int i = 0; i < many; ++i) CHECK(all.sent_by(i).ok());
}

CONFORMANCE_ON(beck::test::kernel, "run() has sent when it returns") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  all.prepare([&](int i) {
    all.send(i, "abc");
    if (i == many - 1) ctx.stop();
  });
  beck::test::run_until(ctx, [&] { return ctx.stopped(); });
  for (int i = 0; i < many; ++i) CHECK(arrived(all.fd(i)) == "abc");
  beck::test::run_all(ctx);
  for (int i = 0; i < many; ++i) CHECK(all.sent_by(i).ok());
}

CONFORMANCE_ON(beck::test::kernel, "each run_one() has sent when it returns") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  all.prepare([&](int i) { all.send(i, "abc"); });
  std::size_t bytes = 0;
  for (int i = 0; i < many; ++i) {
    REQUIRE(ctx.run_one() == 1);
    for (int peer = 0; peer < many; ++peer) bytes += arrived(all.fd(peer)).size();
    CHECK(bytes == 3 * static_cast<std::size_t>(i + 1));
  }
  beck::test::run_all(ctx);
}

CONFORMANCE_ON(beck::test::kernel, "a batched send to a peer that is gone reports it") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  all.play([&](int i) {
    all.peer(i).close();
    all.send(i, "abc");
  });
  for (int i = 0; i < many; ++i) CHECK(all.sent_by(i).ended_with(beck::error::broken_pipe));
}

CONFORMANCE_ON(beck::test::kernel, "a batched send that finds no room goes on, or is cancelled") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  const std::string text(4096, 't');
  for (int i = 0; i < many; ++i) REQUIRE(beck::test::fill(all.end(i)) != 0);
  all.prepare([&](int i) { async_write(all.end(i), beck::buffer(text), note(all.sent_by(i))); });
  beck::test::let_settle(ctx);
  for (int i = 0; i < many; ++i) CHECK(!all.sent_by(i).done());
  for (int i = 0; i < many / 2; ++i) all.end(i).cancel();
  beck::test::let_settle(ctx);
  for (int i = 0; i < many / 2; ++i) {
    CHECK(all.sent_by(i).aborted());
    CHECK(all.sent_by(i).bytes < 4096);
  }
  for (int i = many / 2; i < many; ++i) {
    while (!arrived(all.fd(i)).empty()) continue;
  }
  beck::test::run_all(ctx);
  for (int i = many / 2; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(all.sent_by(i).bytes == 4096);
  }
}

CONFORMANCE_ON(beck::test::kernel, "a context that ends with waiting sends leaves nothing behind") {
  auto ctx = std::make_unique<beck::io_context>(context_options());
  crowd all(*ctx, many);
  const auto alive = std::make_shared<int>(0);
  all.prepare([&](int i) {
    async_write(all.end(i), beck::buffer("abc", 3),
                [alive](const beck::error_code&, std::size_t) { ++*alive; });
    if (i == many - 1) throw 1;
  });
  CHECK_THROWS_AS(ctx->run(), int);
  for (int i = 0; i < many; ++i) CHECK(arrived(all.fd(i)) == "abc");
  for (int i = 0; i < many; ++i) {
    all.end(i).close();
    all.peer(i).close();
  }
  CHECK(*alive == 0);
}

CONFORMANCE_ON(beck::test::kernel, "a child of fork sends nothing of its parent's") {
  beck::io_context ctx(context_options());
  crowd all(ctx, many);
  beck::test::stream_pair other(ctx);
  const int other_fd = other.b.native_handle();
  const auto grown = all.play([&](int i) {
    all.send(i, "abc");
    if (i != many - 1) return;
    const auto end = beck::test::run_child([&](int) {
      outcome sent;
      other.a.async_write_some(beck::buffer("c", 1), note(sent));  // not batched: nothing polls
      other.a.write_some(beck::buffer("d", 1));
      for (int k = 0; k < many; ++k) all.end(k).close();
    });
    CHECK(end.status == 0);
    CHECK(arrived(other_fd) == "cd");
  });
  if (batches(ctx)) CHECK(grown.sends_batched == many);
  for (int i = 0; i < many; ++i) {
    CHECK(all.sent_by(i).ok());
    CHECK(arrived(all.fd(i)) == "abc");
  }
}
