// SPDX-License-Identifier: BSL-1.0
//
// Reading up to a delimiter: what it gives, what it leaves in the buffer, where delimiters may be
// cut, and which ends there are.
#include <array>
#include <beck/base/flat_buffer.hpp>
#include <beck/io/read_until.hpp>
#include <beck/io/read_write.hpp>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::async_read_until;
using beck::dynamic_buffer;
using beck::test::note;
using beck::test::outcome;
using beck::test::run_task;
using beck::test::stream_pair;

namespace {

// Sends `pieces`, each on its own, after the reader had time to look at the one before.
beck::task<> send_pieces(beck::io_context& ctx, stream_pair& pair,
                         std::vector<std::string> pieces) {
  beck::steady_timer pause(ctx);
  for (const auto& piece : pieces) {
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer(piece)));
    pause.expires_after(10us);
    beck::ignore(co_await pause.async_wait());
  }
}

std::string text_of(const beck::flat_buffer& b) { return {b.view().data(), b.view().size()}; }

}  // namespace

CONFORMANCE("read_until gives the bytes up to and including the delimiter, and keeps the others") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::string text;
  outcome found;
  async_read_until(pair.a, dynamic_buffer(text), '\n', note(found));
  beck::async_write(pair.b, beck::buffer("first\nsecond", 12), beck::detached);
  ctx.run();
  CHECK(found.ok());
  CHECK(found.bytes == 6);
  CHECK(text.substr(0, 6) == "first\n");
  CHECK(std::string("first\nsecond").substr(0, text.size()) == text);
}

CONFORMANCE("a delimiter of several characters is found wherever the stream is cut") {
  const std::string message = "key: value\r\n\r\nrest";
  for (std::size_t cut = 1; cut < message.size(); ++cut) {
    beck::io_context ctx(context_options());
    stream_pair pair(ctx);
    std::string text;
    outcome found;
    async_read_until(pair.a, dynamic_buffer(text), "\r\n\r\n", note(found));
    run_task(ctx, send_pieces(ctx, pair, {message.substr(0, cut), message.substr(cut)}));
    CAPTURE(cut);
    CHECK(found.ok());
    CHECK(found.bytes == 14);
    CHECK(text.substr(0, 14) == message.substr(0, 14));
  }
}

CONFORMANCE("a delimiter is found behind a prefix of itself") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  auto work = [&]() -> beck::task<> {
    for (const auto& [message, delimiter] : std::vector<std::pair<std::string, std::string>>{
             {"aaab", "aab"}, {"\r\r\n", "\r\n"}, {"abababc", "ababc"}, {"--=--==", "--=="}}) {
      beck::flat_buffer space;
      for (std::size_t i = 0; i < message.size(); ++i) {  // byte by byte: each is a cut
        beck::ignore(co_await beck::async_write(pair.b, beck::buffer(&message[i], 1)));
      }
      const auto found = co_await async_read_until(pair.a, dynamic_buffer(space), delimiter);
      CHECK_FALSE(found.error());
      CHECK(*found == message.size());
    }
  };
  run_task(ctx, work);
}

CONFORMANCE("a delimiter that is buffered already is found without suspension and without I/O") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  auto work = [&]() -> beck::task<> {
    std::string text = "one\ntwo\n";
    const auto before = ctx.stats();
    const auto first = co_await async_read_until(pair.a, dynamic_buffer(text), '\n');
    CHECK(*first == 4);
    text.erase(0, *first);
    const auto second = co_await async_read_until(pair.a, dynamic_buffer(text), "\n");
    CHECK(*second == 4);
    const auto after = ctx.stats();
    CHECK(after.entries_run == before.entries_run);
    CHECK(after.attempts == before.attempts);
    CHECK(after.inline_completions == before.inline_completions + 2);
  };
  run_task(ctx, work);
}

CONFORMANCE("a callback for a delimiter that is buffered already still runs later") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::string text = "line\n";
  outcome found;
  beck::post(ctx, [&] {
    async_read_until(pair.a, dynamic_buffer(text), '\n', note(found));
    CHECK_FALSE(found.done());
  });
  ctx.run();
  CHECK(found.ok());
  CHECK(found.bytes == 5);
}

CONFORMANCE("a condition of the user's decides, and goes on where it said") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::string text;
  outcome found;
  std::size_t looked_at = 0;
  // The end of a line that does not begin with a space.
  auto end = [&](const char* begin, const char* last) {
    looked_at += static_cast<std::size_t>(last - begin);
    for (const char* at = begin; at != last; ++at) {
      if (*at == ';') return std::pair(at + 1, true);
    }
    return std::pair(last, false);
  };
  async_read_until(pair.a, dynamic_buffer(text), end, note(found));
  run_task(ctx, send_pieces(ctx, pair, {"abc", "def", "gh;", "ij"}));
  CHECK(found.ok());
  CHECK(found.bytes == 9);
  CHECK(text.substr(0, 9) == "abcdefgh;");
  CHECK(looked_at <= text.size() + 2);  // no byte twice
}

CONFORMANCE("an empty delimiter matches at once with 0 bytes") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::string text = "something";
  outcome with_callback;
  async_read_until(pair.a, dynamic_buffer(text), "", note(with_callback));
  auto work = [&]() -> beck::task<> {
    const auto found = co_await async_read_until(pair.a, dynamic_buffer(text), "");
    CHECK_FALSE(found.error());
    CHECK(*found == 0);
  };
  run_task(ctx, work);
  CHECK(with_callback.ok());
  CHECK(with_callback.bytes == 0);
  CHECK(text == "something");
}

CONFORMANCE("a delimiter that is too long is refused with its size and the limit") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::string text;
  const std::string delimiter(81, 'x');
  try {
    beck::ignore(async_read_until(pair.a, dynamic_buffer(text), delimiter));
    FAIL("accepted");
  } catch (const std::length_error& error) {
    const std::string message = error.what();
    CHECK(message.find("81") != std::string::npos);
    CHECK(message.find("80") != std::string::npos);
  }
  outcome found;
  async_read_until(pair.a, dynamic_buffer(text), delimiter.substr(1), note(found));
  beck::async_write(pair.b, beck::buffer(delimiter), beck::detached);
  ctx.run();
  CHECK(found.ok());
  CHECK(found.bytes == 80);
}

CONFORMANCE("the delimiter may be a temporary string") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::string text;
  outcome found;
  {
    const std::string delimiter = std::string(20, '-') + "END";
    async_read_until(pair.a, dynamic_buffer(text), delimiter, note(found));
  }
  const std::string message = "body" + std::string(20, '-') + "END";
  auto work = [&]() -> beck::task<> {
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer(message)));
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer(message)));
    std::string more;
    for (int i = 0; !found.done() && i < 1000; ++i) {
      beck::steady_timer pause(ctx, 10us);
      beck::ignore(co_await pause.async_wait());
    }
    more = text.substr(found.bytes);
    const auto second =
        co_await async_read_until(pair.a, dynamic_buffer(more), std::string(20, '-') + "END");
    CHECK(*second == message.size());
  };
  run_task(ctx, work);
  CHECK(found.ok());
  CHECK(found.bytes == message.size());
}

CONFORMANCE("a buffer that is full without the delimiter says so and keeps its bytes") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::string text;
  beck::flat_buffer flat(10);
  outcome bounded, own_bound;
  beck::async_write(pair.b, beck::buffer("0123456789abcdefghij", 20), beck::detached);
  async_read_until(pair.a, dynamic_buffer(text, 10), '\n', note(bounded));
  async_read_until(pair.a, dynamic_buffer(flat), '\n', note(own_bound));
  ctx.run();
  CHECK(bounded.ended_with(beck::error::delimiter_not_found));
  CHECK(bounded.bytes == 0);
  CHECK(text == "0123456789");
  CHECK(own_bound.ended_with(beck::error::delimiter_not_found));
  CHECK(text_of(flat) == "abcdefghij");
}

CONFORMANCE("a delimiter whose last byte is the last that fits is found") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::string text;
  outcome found, full;
  beck::async_write(pair.b, beck::buffer("012345678\n", 10), beck::detached);
  async_read_until(pair.a, dynamic_buffer(text, 10), '\n', note(found));
  ctx.run();
  ctx.restart();
  CHECK(found.ok());
  CHECK(found.bytes == 10);
  text.assign(10, 'x');  // full from the start: not even a read is made
  async_read_until(pair.a, dynamic_buffer(text, 10), '\n', note(full));
  ctx.run();
  CHECK(full.ended_with(beck::error::delimiter_not_found));
}

CONFORMANCE("the end of the stream before the delimiter gives eof and keeps what was read") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::string text = "kept ";
  outcome found;
  async_read_until(pair.a, dynamic_buffer(text), '\n', note(found));
  auto work = [&]() -> beck::task<> {
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("no end", 6)));
    pair.b.close();
  };
  run_task(ctx, work);
  CHECK(found.ended_with(beck::error::eof));
  CHECK(found.bytes == 0);
  CHECK(text == "kept no end");
}

CONFORMANCE("a string, a vector and a flat_buffer hold the lines alike") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::string string;
  std::vector<char> vector;
  beck::flat_buffer flat;
  auto work = [&]() -> beck::task<> {
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("ab\n", 3)));
    const auto first = co_await async_read_until(pair.a, dynamic_buffer(string), '\n');
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("ab\n", 3)));
    const auto second = co_await async_read_until(pair.a, dynamic_buffer(vector), '\n');
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("ab\n", 3)));
    const auto third = co_await async_read_until(pair.a, dynamic_buffer(flat), '\n');
    CHECK(*first == 3);
    CHECK(*second == 3);
    CHECK(*third == 3);
  };
  run_task(ctx, work);
  CHECK(string == "ab\n");
  CHECK(std::string(vector.begin(), vector.end()) == "ab\n");
  CHECK(text_of(flat) == "ab\n");
}

CONFORMANCE("a thousand lines are read one by one through a small flat_buffer that does not grow") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  constexpr int lines = 1000;
  auto writer = [&]() -> beck::task<> {
    std::string all;
    for (int i = 0; i < lines; ++i) all += "line " + std::to_string(i) + "\r\n";
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer(all)));
    pair.b.close();
  };
  int right = 0;
  std::size_t capacity = 0;
  auto reader = [&]() -> beck::task<> {
    beck::flat_buffer space(4096);
    for (int i = 0;; ++i) {
      const auto found = co_await async_read_until(pair.a, dynamic_buffer(space), "\r\n");
      if (found.error()) {
        CHECK(found.error() == beck::error::eof);
        break;
      }
      const std::string line(space.view().data(), *found);
      right += line == "line " + std::to_string(i) + "\r\n" ? 1 : 0;
      space.consume(*found);
    }
    CHECK(space.empty());
    capacity = space.capacity();
  };
  beck::co_spawn(ctx, writer, beck::detached);
  beck::co_spawn(ctx, reader, beck::detached);
  ctx.run();
  CHECK(right == lines);
  CHECK(capacity <= 2 * 4096);
}

CONFORMANCE("the synchronous read_until finds, throws at the end, and keeps what was read") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::write(pair.b, beck::buffer("one\ntwo", 7));
  run_task(ctx, beck::test::until_available(pair.a, ctx, 7));
  std::string text;
  beck::error_code ec;
  CHECK(beck::read_until(pair.a, dynamic_buffer(text), "\n", ec) == 4);
  CHECK_FALSE(ec);
  text.erase(0, 4);
  pair.b.close();
  beck::steady_timer until_closed(ctx, 5ms);
  until_closed.async_wait(beck::detached);
  ctx.run();
  CHECK_THROWS_AS(beck::read_until(pair.a, dynamic_buffer(text), "\n"), beck::io_error);
  CHECK(text == "two");
}
