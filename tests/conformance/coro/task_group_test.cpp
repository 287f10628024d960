// SPDX-License-Identifier: BSL-1.0
//
// Groups of tasks: run() joins whatever happens, the first error decides, draining is limited, and
// nothing outlives the group.
#include <beck/coro/task_group.hpp>
#include <beck/coro/this_coro.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>
#include <chrono>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/context_options.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::group_options;
using beck::task_group;
using beck::error::operation_aborted;
using beck::test::run_task;
using beck::test::stream_pair;

namespace {

beck::task<> wait_for(beck::io_context& ctx, beck::duration time, int& finished, int& stopped) {
  beck::steady_timer timer(ctx, time);
  const auto waited = co_await timer.async_wait();
  ++(waited ? finished : stopped);
}

beck::task<> fail_after(beck::io_context& ctx, beck::duration time, const char* what) {
  beck::steady_timer timer(ctx, time);
  beck::ignore(co_await timer.async_wait());
  throw std::runtime_error(what);
}

}  // namespace

CONFORMANCE("a group goes on when its body and all its children have ended") {
  beck::io_context ctx(context_options());
  int finished = 0;
  int stopped = 0;
  run_task(ctx, [&]() -> beck::task<> {
    const auto body = [&](task_group& group) -> beck::task<> {
      for (int i = 0; i < 20; ++i) group.spawn(wait_for(ctx, 1ms * (20 - i), finished, stopped));
      CHECK(group.size() == 20);
      co_return;
    };
    co_await task_group::run(body);
    CHECK(finished == 20);
    CHECK(stopped == 0);
  });
}

CONFORMANCE("children may spawn children, and callables keep what they captured") {
  beck::io_context ctx(context_options());
  int ended = 0;
  run_task(ctx, [&]() -> beck::task<> {
    const auto body = [&](task_group& group) -> beck::task<> {
      const auto kept = std::make_shared<std::string>("kept");
      const auto child = [&, kept]() -> beck::task<> {
        co_await beck::post(ctx);
        const auto grandchild = [&, kept]() -> beck::task<> {
          co_await beck::post(ctx);
          ended += *kept == "kept" ? 1 : 0;
        };
        group.spawn(grandchild);
        ended += *kept == "kept" ? 1 : 0;
      };
      group.spawn(child);
      co_return;
    };
    co_await task_group::run(body);
    CHECK(ended == 2);
  });
}

CONFORMANCE("the first exception of a child stops the body and the others, and is thrown") {
  beck::io_context ctx(context_options());
  int finished = 0;
  int stopped = 0;
  std::string what;
  run_task(ctx, [&]() -> beck::task<> {
    const auto body = [&](task_group& group) -> beck::task<> {
      group.spawn(wait_for(ctx, 1h, finished, stopped));
      group.spawn(fail_after(ctx, 1ms, "first"));
      group.spawn(wait_for(ctx, 1h, finished, stopped));
      co_await wait_for(ctx, 1h, finished, stopped);
    };
    try {
      co_await task_group::run(body, {.drain_timeout = 1h});
    } catch (const std::runtime_error& e) {
      what = e.what();
    }
  });
  CHECK(what == "first");
  CHECK(stopped == 3);
  CHECK(finished == 0);
}

CONFORMANCE("an exception of the body stops the children and is thrown") {
  beck::io_context ctx(context_options());
  int finished = 0;
  int stopped = 0;
  bool thrown = false;
  run_task(ctx, [&]() -> beck::task<> {
    const auto body = [&](task_group& group) -> beck::task<> {
      group.spawn(wait_for(ctx, 1h, finished, stopped));
      co_await beck::post(ctx);
      throw std::runtime_error("body");
    };
    try {
      co_await task_group::run(body);
    } catch (const std::runtime_error&) {
      thrown = true;
    }
  });
  CHECK(thrown);
  CHECK(stopped == 1);
}

CONFORMANCE("children have the time to drain after the body's end, and are stopped then") {
  beck::io_context ctx(context_options());
  int finished = 0;
  int stopped = 0;
  run_task(ctx, [&]() -> beck::task<> {
    const auto body = [&](task_group& group) -> beck::task<> {
      group.spawn(wait_for(ctx, 1us, finished, stopped));
      group.spawn(wait_for(ctx, 1h, finished, stopped));
      co_return;
    };
    co_await task_group::run(body, {.drain_timeout = 5ms});
  });
  CHECK(finished == 1);
  CHECK(stopped == 1);
}

CONFORMANCE("a stop ends the body at once and the children after the time to drain") {
  beck::io_context ctx(context_options());
  int finished = 0;
  int stopped = 0;
  int body_stopped = 0;
  beck::stop_source source;
  run_task(ctx, [&]() -> beck::task<> {
    const auto body = [&](task_group& group) -> beck::task<> {
      group.spawn(wait_for(ctx, 3ms, finished, stopped));
      group.spawn(wait_for(ctx, 1h, finished, stopped));
      co_await beck::post(ctx);
      source.request_stop();
      co_await wait_for(ctx, 1h, finished, body_stopped);
    };
    auto whole = co_await beck::with_stop(source.get_token(),
                                          task_group::run(body, {.drain_timeout = 20ms}));
    CHECK(whole.error() == operation_aborted);
  });
  CHECK(body_stopped == 1);
  CHECK(finished == 1);
  CHECK(stopped == 1);
}

CONFORMANCE("a stop without time to drain, and a deadline, stop the children at once") {
  beck::io_context ctx(context_options());
  int finished = 0;
  int stopped = 0;
  beck::stop_source source;
  run_task(ctx, [&]() -> beck::task<> {
    const auto body = [&](task_group& group) -> beck::task<> {
      group.spawn(wait_for(ctx, 1h, finished, stopped));
      co_await beck::post(ctx);
      source.request_stop();
    };
    beck::ignore(co_await beck::with_stop(source.get_token(), task_group::run(body)));
    CHECK(stopped == 1);
    const auto slow = [&](task_group& group) -> beck::task<> {
      group.spawn(wait_for(ctx, 1h, finished, stopped));
      co_return;
    };
    auto late = co_await beck::timeout(task_group::run(slow, {.drain_timeout = 1h}), 1ms);
    CHECK(late.error() == beck::error::timeout);
    CHECK(stopped == 2);
  });
  CHECK(finished == 0);
}

CONFORMANCE("a group can stop itself, and what is spawned afterwards starts stopped") {
  beck::io_context ctx(context_options());
  int finished = 0;
  int stopped = 0;
  run_task(ctx, [&]() -> beck::task<> {
    const auto body = [&](task_group& group) -> beck::task<> {
      group.spawn(wait_for(ctx, 1h, finished, stopped));
      group.stop();
      group.spawn(wait_for(ctx, 1h, finished, stopped));
      co_await wait_for(ctx, 1h, finished, stopped);
    };
    co_await task_group::run(body);
  });
  CHECK(stopped == 3);
}

CONFORMANCE("a full group refuses, says so, or lets wait in order") {
  beck::io_context ctx(context_options());
  int finished = 0;
  int stopped = 0;
  std::size_t most = 0;
  run_task(ctx, [&]() -> beck::task<> {
    const auto body = [&](task_group& group) -> beck::task<> {
      CHECK(group.try_spawn(wait_for(ctx, 1ms, finished, stopped)));
      CHECK(group.try_spawn(wait_for(ctx, 1ms, finished, stopped)));
      CHECK_FALSE(group.try_spawn(wait_for(ctx, 1ms, finished, stopped)));
      CHECK_THROWS_WITH_AS(group.spawn(wait_for(ctx, 1ms, finished, stopped)),
                           "beck::task_group: 2 children already, which is the limit of this group",
                           std::length_error);
      for (int i = 0; i < 20; ++i) {
        auto spawned = co_await group.async_spawn(wait_for(ctx, 10us, finished, stopped));
        CHECK_FALSE(spawned.error());
        most = std::max(most, group.size());
      }
      auto late =
          co_await beck::timeout(group.async_spawn(wait_for(ctx, 1ms, finished, stopped)), 1h);
      CHECK_FALSE(late.error());
      // Two are running or queued again: a place does not come in no time.
      auto full =
          co_await beck::timeout(group.async_spawn(wait_for(ctx, 1ms, finished, stopped)), 0s);
      CHECK((full.error() == beck::error::timeout || !full.error()));
    };
    co_await task_group::run(body, group_options{.limit = 2});
  });
  CHECK(most <= 2);
  CHECK(finished >= 23);
}

CONFORMANCE("a server accepts, serves and is stopped; its sessions finish what they have") {
  beck::io_context ctx(context_options());
  beck::ip::tcp::acceptor acceptor(ctx, {beck::ip::address_v4::loopback(), 0});
  beck::stop_source source;
  int sessions_ended = 0;
  const auto session = [&](beck::ip::tcp::socket socket) -> beck::task<> {
    char data[64];
    for (;;) {
      auto got = co_await socket.async_read_some(beck::buffer(data));
      if (!got) break;
      auto sent = co_await beck::async_write(socket, beck::buffer(data, *got));
      if (!sent) break;
    }
    ++sessions_ended;
  };
  const auto server = [&](task_group& sessions) -> beck::task<> {
    for (;;) {
      auto accepted = co_await acceptor.async_accept();
      if (!accepted) co_return;
      sessions.spawn(session(std::move(accepted).value()));
    }
  };
  const auto client = [&]() -> beck::task<> {
    beck::ip::tcp::socket socket(ctx);
    beck::ignore(co_await socket.async_connect(acceptor.local_endpoint()));
    std::string text = "hello";
    beck::ignore(co_await beck::async_write(socket, beck::buffer(text)));
    beck::ignore(co_await beck::async_read(socket, beck::buffer(text)));
    CHECK(text == "hello");
    source.request_stop();
    beck::ignore(co_await beck::async_write(socket, beck::buffer(text)));
    auto again = co_await beck::async_read(socket, beck::buffer(text));
    CHECK_FALSE(again.error());  // draining: still served
  };
  co_spawn(ctx, client, beck::detached);
  run_task(ctx, [&]() -> beck::task<> {
    auto whole = co_await beck::with_stop(source.get_token(),
                                          task_group::run(server, {.drain_timeout = 10s}));
    CHECK(whole.error() == operation_aborted);
  });
  CHECK(sessions_ended == 1);
}

CONFORMANCE("a context that goes takes a group and its children with it") {
  int finished = 0;
  int stopped = 0;
  {
    beck::io_context ctx(context_options());
    co_spawn(
        ctx,
        [&]() -> beck::task<> {
          const auto body = [&](task_group& group) -> beck::task<> {
            for (int i = 0; i < 10; ++i) group.spawn(wait_for(ctx, 1h, finished, stopped));
            co_await wait_for(ctx, 1h, finished, stopped);
          };
          co_await task_group::run(body, {.drain_timeout = 1h});
        },
        beck::detached);
    ctx.poll();
    ctx.restart();
    ctx.poll();
  }
  CHECK(finished + stopped == 0);
}

CONFORMANCE("ten thousand children of one group") {
  beck::io_context ctx(context_options());
  int finished = 0;
  int stopped = 0;
  run_task(ctx, [&]() -> beck::task<> {
    const auto body = [&](task_group& group) -> beck::task<> {
      for (int i = 0; i < 10000; ++i)
        group.spawn(wait_for(ctx, i % 2 == 0 ? 0s : 3600s, finished, stopped));
      beck::steady_timer timer(ctx, 1ms);
      beck::ignore(co_await timer.async_wait());
      while (finished < 5000) co_await beck::post(ctx);
      group.stop();
    };
    co_await task_group::run(body);
  });
  CHECK(finished == 5000);
  CHECK(stopped == 5000);
}

CONFORMANCE("children of a group that dies with its context go before the body that made them") {
  struct owner {
    explicit owner(bool& a) : alive(a) { alive = true; }
    ~owner() { alive = false; }
    bool& alive;
  };
  struct user {
    user(const bool& a, int& o) : alive(a), orphaned(o) {}
    ~user() { orphaned += alive ? 0 : 1; }
    const bool& alive;
    int& orphaned;
  };
  bool alive = false;
  int orphaned = 0;
  int finished = 0;
  {
    beck::io_context ctx(context_options());
    const auto work = [&]() -> beck::task<> {
      const auto body = [&](beck::task_group& group) -> beck::task<> {
        const owner used_by_children(alive);
        const auto child = [&]() -> beck::task<> {
          const user of_the_body(alive, orphaned);
          co_await wait_for(ctx, 1h, finished, finished);
        };
        group.spawn(child());
        group.spawn(child());
        co_await wait_for(ctx, 1h, finished, finished);
      };
      co_await beck::task_group::run(body);
    };
    co_spawn(ctx, work, beck::detached);
    ctx.poll();
    CHECK(alive);
  }
  CHECK_FALSE(alive);
  CHECK(orphaned == 0);
}
