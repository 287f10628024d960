// SPDX-License-Identifier: BSL-1.0
// Coroutines: results and exceptions of co_spawn, order, tokens, operators, cancellation, ends.
#include "rows.hpp"

#include <memory>
#include <optional>

#include <asio/experimental/awaitable_operators.hpp>

namespace semantics::coroutines {

using asio::awaitable;
using asio::use_awaitable;
using namespace std::chrono_literals;
using asio::steady_timer;

awaitable<int> value(int n) { co_return n; }
awaitable<int> failing() {
  throw std::runtime_error("failed");
  co_return 1;
}
/// Waits for ever, then adds a word and the error.
awaitable<void> wait(trace& words, const char* name) {
  steady_timer timer(co_await asio::this_coro::executor, 1h);
  asio::error_code ec;
  co_await timer.async_wait(asio::redirect_error(use_awaitable, ec));
  words << (std::string(name) + ":" + name_of(ec));
}
/// Adds a word when a frame is destroyed.
struct at_end {
  trace* words;
  const char* word;
  ~at_end() { *words << word; }
};

ROW("co_spawn: the handler's arguments") {
  asio::io_context context;
  trace words;
  asio::co_spawn(context, value(7), [&](std::exception_ptr e, int n) { words << kind_of(e) << n; });
  asio::co_spawn(context, failing(),
                 [&](std::exception_ptr e, int n) { words << kind_of(e) << n; });
  words << context.run() * 0;
  return words;
}
ROW("co_spawn: of a function and of an awaitable") {
  asio::io_context context;
  trace words;
  asio::co_spawn(context, [] { return value(1); }, [&](std::exception_ptr, int n) { words << n; });
  asio::co_spawn(context.get_executor(), value(2), [&](std::exception_ptr, int n) { words << n; });
  context.run();
  return words;
}
ROW("co_spawn: detached drops an exception") {
  asio::io_context context;
  trace words;
  asio::co_spawn(context, failing(), asio::detached);
  asio::post(context, [&] { words << "next"; });
  words << thrown_by([&] { context.run(); });
  return words;
}
ROW("co_spawn: a handler that rethrows leaves run") {
  asio::io_context context;
  asio::co_spawn(context, failing(), [](std::exception_ptr e, int) {
    if (e) std::rethrow_exception(e);
  });
  return thrown_by([&] { context.run(); });
}
ROW("co_spawn: as a future") {
  asio::io_context context;
  auto good = asio::co_spawn(context, value(7), asio::use_future);
  auto bad = asio::co_spawn(context, failing(), asio::use_future);
  context.run();
  return line(good.get(), thrown_by([&] { bad.get(); }));
}
ROW("co_spawn: outside of run begins in run") {
  asio::io_context context;
  trace words;
  asio::co_spawn(
      context,
      [&]() -> awaitable<void> {
        words << "body";
        co_return;
      },
      asio::detached);
  words << "spawned";
  context.run();
  return words;
}
ROW("co_spawn: in a handler of the context begins") {
  asio::io_context context;
  trace words;
  asio::post(context, [&] {
    asio::co_spawn(
        context,
        [&]() -> awaitable<void> {
          words << "body";
          co_return;
        },
        asio::detached);
    words << "spawned";
  });
  context.run();
  return words;
}
ROW("co_spawn: the handler of a coroutine that does not wait") {
  asio::io_context context;
  trace words;
  asio::post(context, [&] {
    asio::co_spawn(context, value(1), [&](std::exception_ptr, int) { words << "handler"; });
    words << "spawned";
  });
  context.run();
  return words;
}
ROW("co_spawn: on a strand") {
  asio::io_context context;
  auto strand = asio::make_strand(context);
  trace words;
  asio::co_spawn(
      strand,
      [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        words << (executor == asio::any_io_executor(strand)) << strand.running_in_this_thread();
        steady_timer timer(executor, 1ms);
        co_await timer.async_wait(use_awaitable);
        words << strand.running_in_this_thread();
      },
      asio::detached);
  context.run();
  return words;
}
ROW("co_spawn: the handler's own executor") {
  asio::io_context context;
  auto strand = asio::make_strand(context);
  trace words;
  asio::co_spawn(context, value(1), asio::bind_executor(strand, [&](std::exception_ptr, int) {
                   words << strand.running_in_this_thread();
                 }));
  context.run();
  return words;
}
ROW("co_spawn: a result that is only moved") {
  asio::io_context context;
  trace words;
  asio::co_spawn(
      context, []() -> awaitable<std::unique_ptr<int>> { co_return std::make_unique<int>(5); },
      [&](std::exception_ptr, std::unique_ptr<int> n) { words << *n; });
  context.run();
  return words;
}
ROW("coroutine: two take turns at post") {
  asio::io_context context;
  trace words;
  auto body = [&](const char* name) -> awaitable<void> {
    for (int i = 0; i < 3; ++i) {
      words << (name + std::to_string(i));
      co_await asio::post(context, use_awaitable);
    }
  };
  asio::co_spawn(context, body("a"), asio::detached);
  asio::co_spawn(context, body("b"), asio::detached);
  context.run();
  return words;
}
ROW("coroutine: an await of a timer that has expired lets a post go first") {
  asio::io_context context;
  trace words;
  asio::co_spawn(
      context,
      [&]() -> awaitable<void> {
        steady_timer timer(context, -1s);
        asio::post(context, [&] { words << "post"; });
        co_await timer.async_wait(use_awaitable);
        words << "coroutine";
      },
      asio::detached);
  context.run();
  return words;
}
ROW("coroutine: an await of a read whose data is there lets a post go first") {
  asio::io_context context;
  local_pair pair(context);
  trace words;
  pair.far.write_some(asio::buffer("x", 1));
  asio::co_spawn(
      context,
      [&]() -> awaitable<void> {
        char data[4];
        asio::post(context, [&] { words << "post"; });
        co_await pair.near.async_read_some(asio::buffer(data), use_awaitable);
        words << "coroutine";
      },
      asio::detached);
  context.run();
  return words;
}
ROW("coroutine: an await of dispatch goes on at once") {
  asio::io_context context;
  trace words;
  asio::co_spawn(
      context,
      [&]() -> awaitable<void> {
        asio::post(context, [&] { words << "post"; });
        co_await asio::dispatch(context, use_awaitable);
        words << "coroutine";
      },
      asio::detached);
  context.run();
  return words;
}
ROW("coroutine: the exception of an operation") {
  asio::io_context context;
  asio::ip::tcp::socket socket(context);
  trace words;
  asio::co_spawn(
      context,
      [&]() -> awaitable<void> {
        char data[4];
        co_await socket.async_read_some(asio::buffer(data), use_awaitable);
      },
      [&](std::exception_ptr e) { words << kind_of(e); });
  context.run();
  return words;
}
ROW("coroutine: what the exception of an operation says") {
  asio::io_context context;
  local_pair pair(context);
  pair.far.close();
  std::string said;
  asio::co_spawn(
      context,
      [&]() -> awaitable<void> {
        char data[4];
        try {
          co_await pair.near.async_read_some(asio::buffer(data), use_awaitable);
        } catch (const std::exception& e) {
          said = e.what();
        }
      },
      asio::detached);
  context.run();
  return said;
}
ROW("coroutine: redirect_error and as_tuple") {
  asio::io_context context;
  asio::ip::tcp::socket socket(context);
  trace words;
  asio::co_spawn(
      context,
      [&]() -> awaitable<void> {
        char data[4];
        asio::error_code ec;
        const std::size_t n = co_await socket.async_read_some(
            asio::buffer(data), asio::redirect_error(use_awaitable, ec));
        words << ec << n;
        auto [e, m] = co_await socket.async_read_some(asio::buffer(data),
                                                      asio::experimental::as_tuple(use_awaitable));
        words << e << m;
      },
      asio::detached);
  context.run();
  return words;
}
ROW("coroutine: an exception goes through frames") {
  asio::io_context context;
  trace words;
  asio::co_spawn(
      context,
      [&]() -> awaitable<void> {
        at_end end{&words, "outer"};
        try {
          co_await failing();
        } catch (const std::runtime_error& e) {
          words << e.what();
        }
      },
      asio::detached);
  context.run();
  return words;
}
ROW("coroutine: an awaitable that is never awaited does not run") {
  trace words;
  auto body = [&]() -> awaitable<void> {
    words << "body";
    co_return;
  };
  { auto unused = body(); }
  return words;
}
ROW("coroutine: this_coro::executor") {
  asio::io_context context;
  trace words;
  asio::co_spawn(
      context,
      [&]() -> awaitable<void> {
        const asio::any_io_executor executor = co_await asio::this_coro::executor;
        words << (executor == asio::any_io_executor(context.get_executor()));
      },
      asio::detached);
  context.run();
  return words;
}
ROW("coroutine: a destroyed context destroys the frames, innermost first") {
  trace words;
  {
    asio::io_context context;
    auto inner = [&]() -> awaitable<void> {
      at_end end{&words, "inner"};
      co_await wait(words, "timer");
    };
    asio::co_spawn(
        context,
        [&]() -> awaitable<void> {
          at_end end{&words, "outer"};
          co_await inner();
        },
        [&](std::exception_ptr) { words << "handler"; });
    context.poll();
  }
  return words;
}
ROW("coroutine: a coroutine that has not begun is destroyed with the context") {
  trace words;
  {
    asio::io_context context;
    asio::co_spawn(
        context,
        [&words, end = std::make_shared<at_end>(&words, "captured")]() -> awaitable<void> {
          words << "body";
          co_return;
        },
        asio::detached);
  }
  return words;
}
ROW("coroutine: locals end before the handler is called") {
  asio::io_context context;
  trace words;
  asio::co_spawn(
      context,
      [&]() -> awaitable<void> {
        at_end end{&words, "local"};
        co_await asio::post(context, use_awaitable);
      },
      [&](std::exception_ptr) { words << "handler"; });
  context.run();
  return words;
}

using namespace asio::experimental::awaitable_operators;

ROW("operators: && gives both values") {
  asio::io_context context;
  trace words;
  asio::co_spawn(
      context,
      [&]() -> awaitable<void> {
        const auto both = co_await (value(1) && value(2));
        words << std::get<0>(both) << std::get<1>(both);
      },
      asio::detached);
  context.run();
  return words;
}
ROW("operators: && with an exception cancels the other") {
  asio::io_context context;
  trace words;
  asio::co_spawn(
      context, [&]() -> awaitable<void> { co_await (wait(words, "wait") && failing()); },
      [&](std::exception_ptr e) { words << kind_of(e); });
  context.run();
  return words;
}
ROW("operators: || gives the first, and cancels the other") {
  asio::io_context context;
  trace words;
  asio::co_spawn(
      context,
      [&]() -> awaitable<void> {
        const auto first = co_await (wait(words, "wait") || value(5));
        words << first.index() << std::get<1>(first);
      },
      asio::detached);
  context.run();
  return words;
}
ROW("operators: || when one fails and the other ends") {
  asio::io_context context;
  trace words;
  asio::co_spawn(
      context,
      [&]() -> awaitable<void> {
        auto later = [&]() -> awaitable<int> {
          steady_timer timer(context, 1ms);
          co_await timer.async_wait(use_awaitable);
          co_return 3;
        };
        const auto first = co_await (failing() || later());
        words << first.index();
      },
      [&](std::exception_ptr e) { words << kind_of(e); });
  context.run();
  return words;
}
ROW("operators: || when both fail") {
  asio::io_context context;
  trace words;
  asio::co_spawn(
      context, [&]() -> awaitable<void> { co_await (failing() || failing()); },
      [&](std::exception_ptr e) {
        try {
          if (e) std::rethrow_exception(e);
        } catch (const asio::multiple_exceptions& several) {
          words << "multiple" << kind_of(several.first_exception());
        } catch (...) {
          words << kind_of(std::current_exception());
        }
      });
  context.run();
  return words;
}

}  // namespace semantics::coroutines
