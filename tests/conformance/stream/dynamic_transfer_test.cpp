// SPDX-License-Identifier: BSL-1.0
// read, write and their asynchronous forms with growing buffers.
#include <beck/base/flat_buffer.hpp>
#include <beck/io/read_write_dynamic.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::buffer;
using beck::dynamic_buffer;
using beck::error_code;
using beck::test::local_connection;
using beck::test::note;
using beck::test::outcome;
namespace error = beck::error;

namespace {

/// All that there is to do, and no endless wait for bytes that do not come.
void run_bounded(beck::io_context& ctx) {
  ctx.restart();
  ctx.run_for(5s);
}

}  // namespace

CONFORMANCE("async_read into a growing buffer ends with eof, and keeps what was there and came") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  const std::string much = beck::test::pattern(100'000);
  std::string got = "before ";
  outcome sent;
  outcome received;
  beck::async_read(c.b, dynamic_buffer(got), note(received));
  beck::async_write(c.a, buffer(much), [&](error_code ec, std::size_t n) {
    note{sent}(ec, n);
    c.a.close();
  });
  run_bounded(ctx);
  CHECK(sent.ok());
  CHECK(received.ended_with(error::eof));
  CHECK(received.bytes == much.size());
  CHECK(got == "before " + much);
}

CONFORMANCE(
    "async_read into a growing buffer ends without error at its limit, or by its condition") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  std::string got = "12";
  outcome limited;
  beck::async_write(c.a, buffer("abcdefghij", 10), beck::detached);
  beck::async_read(c.b, dynamic_buffer(got, 6), note(limited));
  run_bounded(ctx);
  CHECK(limited.ok());
  CHECK(limited.bytes == 4);
  CHECK(got == "12abcd");
  bool done = false;
  const auto read_on = [&]() -> beck::task<> {
    const auto exactly =
        co_await beck::async_read(c.b, dynamic_buffer(got), beck::transfer_exactly(3));
    CHECK_FALSE(exactly.error());
    CHECK(*exactly == 3);
    CHECK(got == "12abcdefg");
    const auto some =
        co_await beck::async_read(c.b, dynamic_buffer(got), beck::transfer_at_least(1));
    CHECK_FALSE(some.error());
    CHECK(*some == 3);
    const auto full = co_await beck::async_read(c.b, dynamic_buffer(got, 2));  // there is no room
    CHECK_FALSE(full.error());
    CHECK(*full == 0);
    done = true;
  };
  beck::co_spawn(ctx, read_on(), beck::detached);
  run_bounded(ctx);
  CHECK(done);
  CHECK(got == "12abcdefghij");
}

CONFORMANCE("async_write from a growing buffer removes what it has written, and no more") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  std::string out = "headtail";
  beck::flat_buffer flat(64);
  outcome part;
  outcome rest;
  beck::async_write(c.a, dynamic_buffer(out), beck::transfer_exactly(4), note(part));
  run_bounded(ctx);
  CHECK(part.ok());
  CHECK(part.bytes == 4);
  CHECK(out == "tail");
  beck::async_write(c.a, dynamic_buffer(out), note(rest));
  beck::async_read(c.b, dynamic_buffer(flat), beck::transfer_exactly(8), beck::detached);
  run_bounded(ctx);
  CHECK(rest.ok());
  CHECK(out.empty());
  CHECK(std::string(flat.view().data(), flat.view().size()) == "headtail");
  c.a.close();
  out = "lost";
  outcome failed;
  beck::async_write(c.a, dynamic_buffer(out), note(failed));
  run_bounded(ctx);
  CHECK(failed.ended_with(error::bad_descriptor));
  CHECK(out == "lost");
}

CONFORMANCE("a cancelled read into a growing buffer leaves what came, and no room behind it") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  std::string got;
  outcome ended;
  beck::async_read(c.b, dynamic_buffer(got), note(ended));
  beck::write(c.a, buffer("some", 4));
  beck::test::run_until(ctx, [&] { return got.size() != 0 && c.b.available() == 0; });
  beck::test::tick(ctx, beck::duration(100'000'000));
  c.b.cancel();
  run_bounded(ctx);
  CHECK(ended.aborted());
  CHECK(ended.bytes == 4);
  CHECK(got == "some");
}

CONFORMANCE("the synchronous forms with growing buffers") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  std::string out = "first line\nsecond";
  CHECK(beck::write(c.a, dynamic_buffer(out), beck::transfer_exactly(11)) == 11);
  CHECK(out == "second");
  error_code ec;
  CHECK(beck::write(c.a, dynamic_buffer(out), ec) == 6);
  CHECK(out.empty());
  std::string got;
  CHECK(beck::read(c.b, dynamic_buffer(got), beck::transfer_exactly(5)) == 5);
  CHECK(got == "first");
  CHECK(beck::read_until(c.b, dynamic_buffer(got), '\n') == 11);
  got.erase(0, 11);
  const auto two = [](const char* begin, const char* end) {
    return end - begin < 2 ? std::pair<const char*, bool>(begin, false)
                           : std::pair<const char*, bool>(begin + 2, true);
  };
  CHECK(beck::read_until(c.b, dynamic_buffer(got), two) == 2);
  c.a.close();
  CHECK(beck::read(c.b, dynamic_buffer(got), ec) + got.size() >= 6);
  CHECK(ec == error::eof);
  CHECK(got == "second");
  CHECK_THROWS_AS(beck::read(c.b, dynamic_buffer(got)), beck::io_error);
  CHECK(beck::read(c.b, dynamic_buffer(got, 3), ec) == 0);  // full already: nothing is asked
  CHECK(!ec);
}

CONFORMANCE("read_until on a full buffer says that there is no delimiter within the limit") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  beck::write(c.a, buffer("abcdefgh", 8));
  beck::test::let_arrive(ctx);
  std::string got;
  error_code ec;
  CHECK(beck::read_until(c.b, dynamic_buffer(got, 4), "\r\n", ec) == 0);
  CHECK(ec == error::delimiter_not_found);
  CHECK(ec.message() == "No delimiter within the limit");
  CHECK(got == "abcd");
  outcome line;
  outcome letter;
  beck::async_read_until(c.b, dynamic_buffer(got, 6), "\r\n", note(line));
  beck::async_read_until(c.b, dynamic_buffer(got, 6), '\n', note(letter));
  run_bounded(ctx);
  CHECK(line.ended_with(error::delimiter_not_found));
  CHECK(letter.ended_with(error::delimiter_not_found));
}
