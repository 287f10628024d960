// SPDX-License-Identifier: BSL-1.0
// The end of contexts, objects and handlers; groups of operations and channels.
#include "rows.hpp"

#include <memory>
#include <optional>

#include <asio/experimental/channel.hpp>
#include <asio/experimental/parallel_group.hpp>

namespace semantics::lifetimes {

using asio::ip::tcp;
using namespace std::chrono_literals;

/// Adds a word when the last copy is destroyed.
std::shared_ptr<void> at_end(trace& words, const char* word) {
  return std::shared_ptr<void>(nullptr, [&words, word](void*) { words << word; });
}

ROW("end: a destroyed context destroys handlers, and calls none") {
  trace words;
  {
    asio::io_context context;
    asio::post(context, [&, end = at_end(words, "destroyed")] { words << "called"; });
  }
  return words;
}
ROW("end: order of destroyed posts") {
  trace words;
  {
    asio::io_context context;
    asio::post(context, [end = at_end(words, "a")] {});
    asio::post(context, [end = at_end(words, "b")] {});
    words << "before";
  }
  return words;
}
ROW("end: a handler that owns its socket is destroyed with the context") {
  asio::io_context outside;
  local_pair pair(outside);
  char data[4];
  trace words;
  {
    asio::io_context context;
    auto socket = std::make_shared<asio::local::stream_protocol::socket>(context);
    socket->assign(asio::local::stream_protocol(), pair.near.release());
    socket->async_read_some(asio::buffer(data),
                            [&, socket, end = at_end(words, "destroyed")](
                                asio::error_code, std::size_t) { words << "called"; });
    socket.reset();
    context.poll();
  }
  asio::error_code ec;
  pair.far.read_some(asio::buffer(data), ec);
  words << ec;
  return words;
}
ROW("end: a handler that owns its timer is destroyed with the context") {
  trace words;
  {
    asio::io_context context;
    auto timer = std::make_shared<asio::steady_timer>(context, 1h);
    timer->async_wait(
        [&, timer, end = at_end(words, "destroyed")](asio::error_code) { words << "called"; });
  }
  return words;
}
ROW("end: a destroyed handler posts to the context that is ending") {
  trace words;
  {
    asio::io_context context;
    auto executor = context.get_executor();
    auto posts = std::shared_ptr<void>(nullptr, [&words, executor](void*) {
      words << "destroyed";
      asio::post(executor, [&words] { words << "called"; });
    });
    asio::post(context, [posts = std::move(posts)] {});
  }
  return words;
}
ROW("end: a context with a guard") {
  trace words;
  {
    auto context = std::make_unique<asio::io_context>();
    auto guard = asio::make_work_guard(*context);
    guard.reset();
    context.reset();
    words << "ended";
  }
  return words;
}
ROW("end: a closed socket outlives its context") {
  auto context = std::make_unique<asio::io_context>();
  tcp::socket socket(*context, tcp::v4());
  socket.close();
  context.reset();
  return line("ended", socket.is_open());
}
ROW("end: a moved-from socket outlives its context") {
  auto context = std::make_unique<asio::io_context>();
  tcp::socket socket(*context, tcp::v4());
  { tcp::socket moved(std::move(socket)); }
  context.reset();
  return "ended";
}
ROW("end: an executor outlives its context") {
  auto context = std::make_unique<asio::io_context>();
  asio::any_io_executor executor = context->get_executor();
  auto strand = std::make_unique<asio::strand<asio::any_io_executor>>(executor);
  context.reset();
  strand.reset();
  return "ended";
}
ROW("end: a socket is closed in its own handler") {
  asio::io_context context;
  local_pair pair(context);
  char data[4];
  trace words;
  pair.near.async_read_some(asio::buffer(data), [&](asio::error_code ec, std::size_t) {
    words << ec;
    pair.near.close();
    words << pair.near.is_open();
  });
  pair.far.write_some(asio::buffer("x", 1));
  context.run();
  return words;
}
ROW("end: a socket is destroyed in its own handler") {
  asio::io_context context;
  auto pair = std::make_unique<local_pair>(context);
  char data[4];
  trace words;
  pair->near.async_read_some(asio::buffer(data), [&](asio::error_code ec, std::size_t) {
    words << ec;
    pair.reset();
    words << "destroyed";
  });
  pair->far.write_some(asio::buffer("x", 1));
  context.run();
  return words;
}
ROW("end: a session that keeps itself alive ends with its last handler") {
  struct session : std::enable_shared_from_this<session> {
    session(asio::io_context& context, trace& w) : pair(context), words(&w) {}
    ~session() { *words << "~session"; }
    void start() {
      pair.near.async_read_some(
          asio::buffer(data),
          [self = shared_from_this()](asio::error_code ec, std::size_t) { *self->words << ec; });
      pair.far.close();
    }
    local_pair pair;
    trace* words;
    char data[4];
  };
  asio::io_context context;
  trace words;
  std::make_shared<session>(context, words)->start();
  words << context.run();
  return words;
}
ROW("end: a handler is destroyed before run returns") {
  asio::io_context context;
  trace words;
  asio::post(context, [end = at_end(words, "destroyed")] {});
  context.run();
  words << "ran";
  return words;
}
ROW("end: a throwing handler is destroyed") {
  asio::io_context context;
  trace words;
  asio::post(context, [end = at_end(words, "destroyed")] { throw 1; });
  try {
    context.run();
  } catch (int) {
    words << "caught";
  }
  return words;
}

/// Runs a group of a wait of an hour and one of a millisecond.
template <class Condition>
std::string group_with(Condition condition) {
  asio::io_context context;
  asio::steady_timer slow(context, 1h), quick(context, 1ms);
  trace words;
  asio::experimental::make_parallel_group([&](auto token) { return slow.async_wait(token); },
                                          [&](auto token) { return quick.async_wait(token); })
      .async_wait(condition, [&](std::array<std::size_t, 2> order, asio::error_code a,
                                 asio::error_code b) { words << order[0] << order[1] << a << b; });
  context.run();
  return words;
}
ROW("group: wait_for_one") { return group_with(asio::experimental::wait_for_one()); }
ROW("group: wait_for_one_success") {
  return group_with(asio::experimental::wait_for_one_success());
}
ROW("group: wait_for_one_error ends with all") {
  asio::io_context context;
  asio::steady_timer slow(context, 2ms), quick(context, 1ms);
  trace words;
  asio::experimental::make_parallel_group([&](auto token) { return slow.async_wait(token); },
                                          [&](auto token) { return quick.async_wait(token); })
      .async_wait(asio::experimental::wait_for_one_error(),
                  [&](std::array<std::size_t, 2> order, asio::error_code a, asio::error_code b) {
                    words << order[0] << order[1] << a << b;
                  });
  context.run();
  return words;
}

using channel = asio::experimental::channel<void(asio::error_code, int)>;

auto note_message(trace& words, const char* word) {
  return [&words, word](asio::error_code ec, int n) {
    words << (std::string(word) + ":" + name_of(ec) + ":" + std::to_string(n));
  };
}
ROW("channel: try_send and try_receive with room for one") {
  asio::io_context context;
  channel c(context, 1);
  trace words;
  words << c.try_send(asio::error_code(), 1) << c.try_send(asio::error_code(), 2) << c.ready();
  words << c.try_receive(note_message(words, "got")) << c.try_receive(note_message(words, "got"));
  return words;
}
ROW("channel: a send waits for a receive") {
  asio::io_context context;
  channel c(context);
  trace words;
  c.async_send(asio::error_code(), 5, note(words, "sent"));
  words << context.poll();
  c.async_receive(note_message(words, "got"));
  context.run();
  return words;
}
ROW("channel: close lets buffered messages out") {
  asio::io_context context;
  channel c(context, 2);
  trace words;
  c.try_send(asio::error_code(), 1);
  c.close();
  words << c.is_open() << c.try_send(asio::error_code(), 2);
  c.async_receive(note_message(words, "first"));
  c.async_receive([&](asio::error_code ec, int) {
    words << (ec == asio::experimental::error::channel_closed) << ec.message();
  });
  context.run();
  return words;
}
ROW("channel: cancel ends what waits") {
  asio::io_context context;
  channel c(context);
  trace words;
  c.async_receive([&](asio::error_code ec, int) {
    words << (ec == asio::experimental::error::channel_cancelled) << ec.message()
          << ec.category().name();
  });
  context.poll();
  c.cancel();
  words << "cancelled";
  context.run();
  words << c.is_open();
  return words;
}
ROW("channel: reset opens it again") {
  asio::io_context context;
  channel c(context, 1);
  c.try_send(asio::error_code(), 1);
  c.close();
  c.reset();
  return line(c.is_open(), c.ready(), c.capacity());
}
ROW("channel: an error as a message") {
  asio::io_context context;
  channel c(context, 1);
  trace words;
  c.try_send(asio::error::eof, 0);
  c.async_receive(note_message(words, "got"));
  context.run();
  return words;
}

}  // namespace semantics::lifetimes
