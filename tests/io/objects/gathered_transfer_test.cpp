// SPDX-License-Identifier: BSL-1.0
// Composed transfers of several buffers: how many calls they make, and what each is given.
#include <doctest/doctest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <beck/coro/co_spawn.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/net/local.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "support/outcome.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::buffer;
using beck::const_buffer;
using beck::mutable_buffer;
using beck::test::note;
using beck::test::outcome;
using beck::test::stream_pair;

namespace {

/// Two ends of a socket that keeps what one call has sent apart from what the next one has.
struct record_pair {
  explicit record_pair(beck::io_context& ctx) : out(ctx) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    out.assign(beck::local::stream_protocol(), ends[0]);
    in = ends[1];
    out.non_blocking(true);  // a write too many is an error, and no wait for ever
  }
  ~record_pair() { ::close(in); }

  /// What one call has sent; empty if there is nothing.
  std::string next() const {
    char bytes[4096];
    const auto n = ::recv(in, bytes, sizeof bytes, MSG_DONTWAIT);
    return n > 0 ? std::string(bytes, static_cast<std::size_t>(n)) : std::string();
  }

  beck::local::stream_protocol::socket out;
  int in = -1;
};

/// A stream of a user over a socket, which counts its calls and the buffers of each.
struct counting_stream {
  beck::test::stream_socket* next;
  std::vector<std::size_t> parts = {};

  auto get_executor() { return next->get_executor(); }
  template <class B>
  std::size_t write_some(const B& from, beck::error_code& ec) {
    count(from);
    return next->write_some(from, ec);
  }
  template <class B>
  std::size_t read_some(const B& to, beck::error_code& ec) {
    count(to);
    return next->read_some(to, ec);
  }
  template <class B, class Token>
  auto async_write_some(const B& from, Token&& token) {
    count(from);
    return next->async_write_some(from, static_cast<Token&&>(token));
  }
  template <class B, class Token>
  auto async_read_some(const B& to, Token&& token) {
    count(to);
    return next->async_read_some(to, static_cast<Token&&>(token));
  }

 private:
  template <class B>
  void count(const B& buffers) {
    std::size_t n = 0;
    for (auto at = beck::buffer_sequence_begin(buffers); at != beck::buffer_sequence_end(buffers);
         ++at)
      ++n;
    parts.push_back(n);
  }
};

/// `bytes` buffers of one byte each, over `text`.
template <class Buffer>
std::vector<Buffer> single_bytes(std::string& text) {
  std::vector<Buffer> parts;
  for (char& c : text) parts.emplace_back(&c, 1);
  return parts;
}

}  // namespace

TEST_CASE("a synchronous write of several buffers is one call, and one asynchronous") {
  beck::io_context ctx;
  record_pair pair(ctx);
  const std::array<const_buffer, 2> message{buffer("head ", 5), buffer("body", 4)};
  CHECK(beck::write(pair.out, message) == 9);
  CHECK(pair.next() == "head body");
  CHECK(pair.next().empty());
  beck::error_code ec;
  CHECK(beck::write(pair.out, message, beck::transfer_exactly(7), ec) == 7);
  CHECK(pair.next() == "head bo");
  CHECK(pair.next().empty());
  outcome sent;
  beck::async_write(pair.out, message, note(sent));
  beck::test::run_all(ctx);
  CHECK(sent.ok());
  CHECK(pair.next() == "head body");
  CHECK(pair.next().empty());
}

TEST_CASE("one call takes at most 16 buffers, of a long sequence one behind the other") {
  beck::io_context ctx;
  record_pair pair(ctx);
  std::string text = beck::test::pattern(40);
  const auto parts = single_bytes<const_buffer>(text);
  CHECK(beck::write(pair.out, parts) == 40);
  CHECK(pair.next() == text.substr(0, 16));
  CHECK(pair.next() == text.substr(16, 16));
  CHECK(pair.next() == text.substr(32));
}

TEST_CASE("a user's stream is given the sequence, synchronously and not") {
  beck::io_context ctx;
  stream_pair pair(ctx);
  pair.a.non_blocking(true);
  pair.b.non_blocking(true);
  counting_stream out{&pair.a};
  counting_stream in{&pair.b};
  const const_buffer message[] = {buffer("head ", 5), const_buffer(), buffer("body", 4)};
  char head[4];
  char tail[5];
  const std::array<mutable_buffer, 2> room{buffer(head), buffer(tail)};

  CHECK(beck::write(out, message) == 9);
  CHECK(out.parts == std::vector<std::size_t>{2});  // empty ones are left out
  CHECK(beck::read(in, room) == 9);
  CHECK(in.parts == std::vector<std::size_t>{2});
  CHECK(std::string(head, 4) + std::string(tail, 5) == "head body");

  outcome sent;
  outcome received;
  beck::async_write(out, message, note(sent));
  beck::async_read(in, room, note(received));
  ctx.run_for(5s);
  CHECK(sent.ok());
  CHECK(received.ok());
  CHECK(received.bytes == 9);
  CHECK(out.parts == std::vector<std::size_t>{2, 2});
  CHECK(in.parts == std::vector<std::size_t>{2, 2});
  CHECK(std::string(head, 4) + std::string(tail, 5) == "head body");
}

TEST_CASE("a long sequence through a user's stream: 16 buffers a call, and nothing out of place") {
  beck::io_context ctx;
  stream_pair pair(ctx);
  pair.a.non_blocking(true);
  pair.b.non_blocking(true);
  counting_stream out{&pair.a};
  counting_stream in{&pair.b};
  std::string text = beck::test::pattern(35);
  std::string got(35, '.');
  outcome sent;
  beck::async_write(out, single_bytes<const_buffer>(text), note(sent));
  ctx.run_for(5s);
  ctx.restart();
  CHECK(out.parts == std::vector<std::size_t>{16, 16, 3});
  outcome received;
  beck::async_read(in, single_bytes<mutable_buffer>(got), beck::transfer_at_least(20),
                   note(received));
  ctx.run_for(5s);
  CHECK(sent.bytes == 35);
  CHECK(received.bytes == 32);
  CHECK(in.parts == std::vector<std::size_t>{16, 16});
  CHECK(got == text.substr(0, 32) + "...");
}

TEST_CASE("a device of a user is given the sequence at its offset") {
  struct device {
    beck::io_context* ctx;
    std::string content;
    std::vector<std::size_t> sizes = {};
    std::size_t write_some_at(std::uint64_t offset,
                              const beck::detail::buffer_parts<const_buffer>& from,
                              beck::error_code& ec) {
      ec = beck::error_code();
      std::size_t n = 0;
      for (const const_buffer& part : from) {
        content.replace(offset + n, part.size(), static_cast<const char*>(part.data()),
                        part.size());
        n += part.size();
      }
      sizes.push_back(n);
      return n;
    }
  };
  beck::io_context ctx;
  device disk{&ctx, std::string(12, '.')};
  const std::array<const_buffer, 2> message{buffer("head ", 5), buffer("body", 4)};
  CHECK(beck::write_at(disk, 2, message) == 9);
  CHECK(disk.content == "..head body.");
  CHECK(disk.sizes == std::vector<std::size_t>{9});
}
