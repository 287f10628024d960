// SPDX-License-Identifier: BSL-1.0
// Conditions and functions of the caller's that can be moved and not copied, in every composed
// operation that takes one.
#include <beck/coro/co_spawn.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/io/read_until.hpp>
#include <beck/io/read_write_dynamic.hpp>
#include <beck/net/connect.hpp>
#include <beck/net/tcp.hpp>

#include <array>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/file_place.hpp"

using beck::buffer;
using beck::error_code;
using beck::ip::tcp;
using beck::test::local_connection;
using beck::test::note;
using beck::test::outcome;

namespace {

/// Transfers everything; knows how often it was asked.
struct everything {
  explicit everything(int& asked) : asked_(std::make_unique<int*>(&asked)) {}
  std::size_t operator()(const error_code& ec, std::size_t) const {
    ++**asked_;  // a moved-from one has no count
    return ec ? 0 : 65536;
  }
  std::unique_ptr<int*> asked_;
};
static_assert(!std::is_copy_constructible_v<everything>);

/// Finds the first semicolon.
struct semicolon {
  explicit semicolon(int& asked) : asked_(std::make_unique<int*>(&asked)) {}
  std::pair<const char*, bool> operator()(const char* begin, const char* end) const {
    ++**asked_;
    for (; begin != end; ++begin) {
      if (*begin == ';') return {begin + 1, true};
    }
    return {end, false};
  }
  std::unique_ptr<int*> asked_;
};

/// A stream of a program's own.
struct layer {
  auto get_executor() { return next.get_executor(); }
  template <class Token>
  auto async_read_some(const beck::mutable_buffer& to, Token&& token) {
    return next.async_read_some(to, std::forward<Token>(token));
  }
  template <class Token>
  auto async_write_some(const beck::const_buffer& from, Token&& token) {
    return next.async_write_some(from, std::forward<Token>(token));
  }
  beck::local::stream_protocol::socket& next;
};

/// Writes by `write(note)`, reads four bytes at the other end, and checks the condition's count.
template <class Writer>
void write_four(beck::io_context& ctx, local_connection& c, const int& asked, Writer write) {
  const int before = asked;
  outcome sent, received;
  char got[4] = {};
  write(sent);
  beck::async_read(c.b, buffer(got), note(received));
  beck::test::run_all(ctx);
  CHECK(sent.ok());
  CHECK(sent.bytes == 4);
  CHECK(received.ok());
  CHECK(std::string(got, 4) == "text");
  CHECK(asked > before);
}

}  // namespace

CONFORMANCE("composed writes take a condition that can only be moved") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  layer own{c.a};
  int asked = 0;
  std::string text = "text";
  const std::array<beck::const_buffer, 2> two{buffer("te", 2), buffer("xt", 2)};
  write_four(ctx, c, asked, [&](outcome& sent) {
    beck::async_write(c.a, beck::dynamic_buffer(text), everything(asked), note(sent));
  });
  CHECK(text.empty());
  text = "text";
  write_four(ctx, c, asked, [&](outcome& sent) {
    beck::async_write(own, beck::dynamic_buffer(text), everything(asked), note(sent));
  });
  write_four(ctx, c, asked,
             [&](outcome& sent) { beck::async_write(c.a, two, everything(asked), note(sent)); });
  write_four(ctx, c, asked,
             [&](outcome& sent) { beck::async_write(own, two, everything(asked), note(sent)); });
  write_four(ctx, c, asked, [&](outcome& sent) {
    error_code ec;
    const std::size_t bytes = beck::write(c.a, two, everything(asked), ec);
    note{sent}(ec, bytes);
  });
}

CONFORMANCE("composed reads take a condition that can only be moved") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  layer own{c.b};
  int asked = 0;
  std::string text;
  char got[4] = {};
  outcome filled, stepped, searched, deferred;
  beck::write(c.a, buffer("textmore", 8));
  beck::async_read(c.b, buffer(got), everything(asked), note(filled));
  beck::test::run_all(ctx);
  CHECK(filled.bytes == 4);
  auto later = beck::async_read(own, buffer(got), everything(asked));
  std::move(later)(note(stepped));
  beck::test::run_all(ctx);
  CHECK(stepped.bytes == 4);
  CHECK(std::string(got, 4) == "more");
  CHECK(asked >= 2);
  asked = 0;
  beck::write(c.a, buffer("ab;cd;", 6));
  beck::async_read_until(c.b, beck::dynamic_buffer(text), semicolon(asked), note(searched));
  beck::test::run_all(ctx);
  CHECK(searched.bytes == 3);
  text.erase(0, 3);
  beck::async_read_until(own, beck::dynamic_buffer(text), semicolon(asked), note(deferred));
  beck::test::run_all(ctx);
  CHECK(deferred.bytes == 3);
  CHECK(asked >= 2);
}

CONFORMANCE("transfers at an offset and connects take a condition that can only be moved") {
  beck::io_context ctx(context_options());
  const beck::test::file_place place(where);
  beck::random_access_file file(ctx, place.path("a"),
                                beck::file_object::read_write | beck::file_object::create);
  int asked = 0;
  outcome written, read;
  char got[4] = {};
  beck::async_write_at(file, 2, buffer("text", 4), everything(asked), note(written));
  beck::test::run_all(ctx);
  CHECK(written.bytes == 4);
  beck::async_read_at(file, 2, buffer(got), everything(asked), note(read));
  beck::test::run_all(ctx);
  CHECK(read.bytes == 4);
  CHECK(std::string(got, 4) == "text");
  tcp::acceptor acceptor(ctx, beck::test::loopback_v4());
  tcp::socket socket(ctx);
  const std::vector<tcp::endpoint> one{acceptor.local_endpoint()};
  bool connected = false;
  beck::async_connect(
      socket, one,
      [only = std::make_unique<int>(0)](const error_code&, const tcp::endpoint&) {
        return ++*only == 1;
      },
      [&](const error_code& ec, const tcp::endpoint& to) { connected = !ec && to == one[0]; });
  beck::test::run_all(ctx);
  CHECK(connected);
}
