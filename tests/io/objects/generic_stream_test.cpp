// SPDX-License-Identifier: BSL-1.0
// Composed reads and writes over streams of users: a stream without any descriptor, one that wraps
// a socket, and which overload is taken for whom.
#include <doctest/doctest.h>
#include <array>
#include <beck/coro/co_spawn.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/as_tuple.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "support/handlers.hpp"
#include "support/outcome.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"

using beck::task;
using beck::test::handler_life;
using beck::test::run_task;
using beck::test::stream_pair;
using beck::test::stream_socket;
using beck::test::tracked;

namespace {

// A pipe in memory: each step moves at most `step_max` bytes and completes through the context's
// queue. Reading past the end gives eof, writing past `room` no_buffer_space.
class memory_stream {
 public:
  memory_stream(beck::io_context& context, std::size_t step_max)
      : context_(&context), step_max_(step_max) {}

  using executor_type = beck::io_context::executor_type;
  executor_type get_executor() noexcept { return context_->get_executor(); }

  template <class Token>
  auto async_read_some(const beck::mutable_buffer& to, Token&& token) {
    ++steps;
    beck::error_code ec;
    std::size_t n = to.size() < step_max_ ? to.size() : step_max_;
    n = n < content.size() ? n : content.size();
    if (content.empty()) ec = beck::error::eof;
    std::memcpy(to.data(), content.data(), n);
    content.erase(0, n);
    return complete(ec, n, token);
  }
  template <class Token>
  auto async_write_some(const beck::const_buffer& from, Token&& token) {
    ++steps;
    beck::error_code ec;
    std::size_t n = from.size() < step_max_ ? from.size() : step_max_;
    n = n < room ? n : room;
    if (room == 0) ec = beck::error::no_buffer_space;
    content.append(static_cast<const char*>(from.data()), n);
    room -= n;
    return complete(ec, n, token);
  }

  std::string content;
  std::size_t room = 1'000'000;
  int steps = 0;

 private:
  template <class Token>
  auto complete(beck::error_code ec, std::size_t n, Token& token) {
    return beck::async_initiate<Token, void(beck::error_code, std::size_t)>(
        [context = context_, ec, n](auto handler) {
          beck::post(*context, [handler = std::move(handler), ec, n]() mutable {
            std::move(handler)(ec, n);
          });
        },
        token);
  }

  beck::io_context* context_;
  std::size_t step_max_;
};

// A layer over a socket.
class layer {
 public:
  explicit layer(stream_socket& next) : next_(&next) {}
  auto get_executor() noexcept { return next_->get_executor(); }
  template <class Token>
  auto async_read_some(const beck::mutable_buffer& to, Token&& token) {
    return next_->async_read_some(to, std::forward<Token>(token));
  }
  template <class Token>
  auto async_write_some(const beck::const_buffer& from, Token&& token) {
    return next_->async_write_some(from, std::forward<Token>(token));
  }

 private:
  stream_socket* next_;
};

static_assert(beck::async_read_stream<memory_stream> && beck::async_write_stream<memory_stream>);
static_assert(beck::async_read_stream<stream_socket> && beck::async_write_stream<stream_socket>);
static_assert(beck::detail::foreign_read_stream<layer> &&
              !beck::detail::foreign_read_stream<stream_socket>);
static_assert(!beck::async_read_stream<int> && !beck::async_read_stream<beck::io_context>);

}  // namespace

TEST_CASE("a whole buffer goes through a user's stream in as many steps as it needs") {
  beck::io_context context;
  memory_stream stream(context, 3);
  run_task(context, [&]() -> task<> {
    const std::string text = beck::test::pattern(20);
    const auto [ec, n] = co_await beck::async_write(stream, beck::buffer(text));
    CHECK_FALSE(ec);
    CHECK(n == 20);
    CHECK(stream.content == text);
    CHECK(stream.steps == 7);
    std::string got(20, '\0');
    const auto [ec2, m] = co_await beck::async_read(stream, beck::buffer(got));
    CHECK_FALSE(ec2);
    CHECK(m == 20);
    CHECK(got == text);
  });
}

TEST_CASE("a sequence goes through a user's stream part by part, empty parts left out") {
  beck::io_context context;
  memory_stream stream(context, 4);
  run_task(context, [&]() -> task<> {
    const std::array<beck::const_buffer, 4> parts{beck::buffer("abcdef", 6), beck::const_buffer(),
                                                  beck::buffer("g", 1), beck::buffer("hijkl", 5)};
    const auto [ec, n] = co_await beck::async_write(stream, parts);
    CHECK_FALSE(ec);
    CHECK(n == 12);
    CHECK(stream.content == "abcdefghijkl");
    char first[5];
    char second[7];
    const std::array<beck::mutable_buffer, 2> into{beck::buffer(first), beck::buffer(second)};
    const auto [ec2, m] = co_await beck::async_read(stream, into);
    CHECK_FALSE(ec2);
    CHECK(m == 12);
    CHECK(std::string(second, 7) == "fghijkl");
  });
}

TEST_CASE("an error of a step ends a composed transfer with what was moved before") {
  beck::io_context context;
  memory_stream stream(context, 4);
  stream.content = "abcdef";
  run_task(context, [&]() -> task<> {
    char data[16];
    const auto [ec, n] = co_await beck::async_read(stream, beck::buffer(data));
    CHECK(ec == beck::error::eof);
    CHECK(n == 6);
    stream.room = 5;
    const auto [ec2, m] = co_await beck::async_write(stream, beck::buffer("123456789", 9));
    CHECK(ec2 == beck::error::no_buffer_space);
    CHECK(m == 5);
  });
}

TEST_CASE("a completion condition ends a transfer over a user's stream") {
  beck::io_context context;
  memory_stream stream(context, 4);
  stream.content = beck::test::pattern(40);
  run_task(context, [&]() -> task<> {
    char data[32];
    const auto [ec, n] =
        co_await beck::async_read(stream, beck::buffer(data), beck::transfer_at_least(6));
    CHECK_FALSE(ec);
    CHECK(n == 8);
    const auto [ec2, m] = co_await beck::async_read(stream, beck::buffer(data),
                                                    beck::transfer_exactly(5), beck::as_tuple);
    CHECK(m == 5);
    const auto [ec3, k] = co_await beck::async_read(
        stream, beck::buffer(data), [](const beck::error_code&, std::size_t) { return 0; });
    CHECK_FALSE(ec3);
    CHECK(k == 0);
    const auto is_done = [](const beck::error_code&, std::size_t moved) { return moved > 4; };
    const auto [ec4, l] = co_await beck::async_read(stream, beck::buffer(data), is_done);
    CHECK(l == 8);
  });
  CHECK(stream.content.size() == 19);
}

TEST_CASE("an empty buffer over a user's stream completes with 0, not inside the call") {
  beck::io_context context;
  memory_stream stream(context, 4);
  beck::test::outcome result;
  beck::async_read(stream, beck::mutable_buffer(), beck::test::note(result));
  CHECK(result.calls == 0);
  context.run();
  CHECK(result.ok());
  CHECK(stream.steps == 0);
}

TEST_CASE("read_until over a user's stream finds a delimiter that two steps cut in half") {
  beck::io_context context;
  memory_stream stream(context, 4);
  stream.content = "abc\r\ndef\r\n";
  run_task(context, [&]() -> task<> {
    std::string text;
    const auto [ec, n] =
        co_await beck::async_read_until(stream, beck::dynamic_buffer(text), "\r\n");
    CHECK_FALSE(ec);
    CHECK(n == 5);
    CHECK(text.substr(0, n) == "abc\r\n");
    text.erase(0, n);
    const auto [ec2, m] =
        co_await beck::async_read_until(stream, beck::dynamic_buffer(text), '\n', beck::as_tuple);
    CHECK_FALSE(ec2);
    CHECK(text.substr(0, m) == "def\r\n");
  });
}

TEST_CASE("read_until over a user's stream takes a delimiter that may go, and a condition") {
  beck::io_context context;
  memory_stream stream(context, 2);
  stream.content = "key=value;rest";
  run_task(context, [&]() -> task<> {
    std::string text;
    auto operation =
        beck::async_read_until(stream, beck::dynamic_buffer(text), std::string("value;"));
    const auto [ec, n] = co_await std::move(operation);
    CHECK_FALSE(ec);
    CHECK(n == 10);
    const auto is_equals = [](const char* begin, const char* end) {
      for (const char* at = begin; at != end; ++at) {
        if (*at == '=') return std::pair(at + 1, true);
      }
      return std::pair(end, false);
    };
    const auto [ec2, m] =
        co_await beck::async_read_until(stream, beck::dynamic_buffer(text), is_equals);
    CHECK_FALSE(ec2);
    CHECK(m == 4);
  });
}

TEST_CASE("a delimiter that is buffered already is found without a step and without suspension") {
  beck::io_context context;
  memory_stream stream(context, 4);
  run_task(context, [&]() -> task<> {
    std::string text = "line\n";
    co_await beck::post(context);
    const auto before = context.stats().delivered;
    for (int i = 0; i < 20; ++i) {
      const auto [ec, n] =
          co_await beck::async_read_until(stream, beck::dynamic_buffer(text), '\n');
      CHECK(n == 5);
    }
    CHECK(context.stats().delivered == before);
    CHECK(stream.steps == 0);
  });
}

TEST_CASE("read_until over a user's stream stops at the bound of its buffer and at eof") {
  beck::io_context context;
  memory_stream stream(context, 4);
  stream.content = beck::test::pattern(20);
  run_task(context, [&]() -> task<> {
    std::string text;
    const auto [ec, n] =
        co_await beck::async_read_until(stream, beck::dynamic_buffer(text, 10), '\n');
    CHECK(ec == beck::error::delimiter_not_found);
    CHECK(n == 0);
    CHECK(text.size() == 10);
    const auto [ec2, m] = co_await beck::async_read_until(stream, beck::dynamic_buffer(text), '\n');
    CHECK(ec2 == beck::error::eof);
    CHECK(text == beck::test::pattern(20));  // what was read stays
  });
}

TEST_CASE("read_until ends with eof after a read that moves nothing, in both forms") {
  struct stalled_stream : memory_stream {
    using memory_stream::memory_stream;
    std::size_t read_some(const beck::mutable_buffer&, beck::error_code&) { return 0; }
  };
  beck::io_context context;
  stalled_stream stream(context, 0);
  stream.content = "ab";
  std::string text;
  beck::error_code ec;
  CHECK(beck::read_until(stream, beck::dynamic_buffer(text), '\n', ec) == 0);
  CHECK(ec == beck::error::eof);
  run_task(context, [&]() -> task<> {
    const auto [error, n] =
        co_await beck::async_read_until(stream, beck::dynamic_buffer(text), '\n');
    CHECK(error == beck::error::eof);
    CHECK(n == 0);
  });
  CHECK(text.empty());
}

TEST_CASE("a delimiter over the limit is refused with a message") {
  beck::io_context context;
  memory_stream stream(context, 4);
  std::string text;
  CHECK_THROWS_AS(beck::async_read_until(stream, beck::dynamic_buffer(text), std::string(81, 'x'),
                                         beck::detached),
                  std::length_error);
}

TEST_CASE("a layer over a socket reads and writes as the socket does, with callbacks too") {
  beck::io_context context;
  stream_pair pair(context);
  layer a(pair.a);
  layer b(pair.b);
  handler_life life;
  std::string text;
  beck::async_read_until(b, beck::dynamic_buffer(text), '\n',
                         tracked(life, [](beck::error_code ec, std::size_t n) {
                           CHECK_FALSE(ec);
                           CHECK(n == 100'001);
                         }));
  const std::string sent = beck::test::pattern(100'000) + "\n";
  beck::async_write(a, beck::buffer(sent), tracked(life, [](beck::error_code ec, std::size_t n) {
                      CHECK_FALSE(ec);
                      CHECK(n == 100'001);
                    }));
  context.run();
  CHECK(life.calls == 2);
  CHECK(life.live == 0);
  CHECK(text == sent);
}

TEST_CASE("the free functions call the members, with and without a token") {
  beck::io_context context;
  stream_pair pair(context);
  memory_stream stream(context, 4);
  run_task(context, [&]() -> task<> {
    const auto [ec, n] = co_await beck::async_write_some(pair.a, beck::buffer("abc", 3));
    CHECK(n == 3);
    char data[8];
    const auto [ec2, m] =
        co_await beck::async_read_some(pair.b, beck::buffer(data), beck::as_tuple);
    CHECK(m == 3);
    const auto [ec3, k] = co_await beck::async_write_some(stream, beck::buffer("abcdef", 6));
    CHECK(k == 4);
    const auto [ec4, l] =
        co_await beck::async_read_some(stream, beck::buffer(data), beck::as_tuple);
    CHECK(l == 4);
  });
  using beck::ip::tcp;
  tcp::acceptor acceptor(context, tcp::endpoint(tcp::v4(), 0));
  tcp::socket client(context);
  run_task(context, [&]() -> task<> {
    client.async_connect(acceptor.local_endpoint(), beck::detached);
    auto accepted = co_await beck::async_accept(acceptor);
    CHECK(accepted);
    client.close();
    client.async_connect(acceptor.local_endpoint(), beck::detached);
    tcp::socket peer(context);
    const auto into = co_await beck::async_accept(acceptor, peer);
    CHECK(into);
    CHECK(peer.is_open());
  });
}
