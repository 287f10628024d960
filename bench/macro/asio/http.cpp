// SPDX-License-Identifier: BSL-1.0
//
// The HTTP service with Asio as its users write it: a coroutine loop over a buffer, a parser that
// goes byte by byte into strings, a response of several buffers. Asio has no HTTP; its example
// server has such parts.
#include <array>
#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../common/http_service.hpp"

namespace {

using asio::ip::tcp;

struct request {
  std::string method, target, version;
  std::vector<std::pair<std::string, std::string>> fields;
};

/// A state machine that is given one byte after the other.
class request_parser {
 public:
  enum class result { more, good, bad };

  result take(request& r, char c) {
    switch (state_) {
      case state::method:
        return word(r.method, c, ' ', state::target);
      case state::target:
        return word(r.target, c, ' ', state::version);
      case state::version:
        return word(r.version, c, '\r', state::line_end);
      case state::line_end:
        state_ = state::name_or_end;
        return c == '\n' ? result::more : result::bad;
      case state::name_or_end:
        if (c == '\r') {
          state_ = state::last_line_end;
          return result::more;
        }
        r.fields.emplace_back();
        state_ = state::name;
        return word(r.fields.back().first, c, ':', state::space);
      case state::name:
        return word(r.fields.back().first, c, ':', state::space);
      case state::space:
        if (c == ' ') return result::more;
        state_ = state::value;
        return word(r.fields.back().second, c, '\r', state::line_end);
      case state::value:
        return word(r.fields.back().second, c, '\r', state::line_end);
      case state::last_line_end:
        state_ = state::method;
        return c == '\n' ? result::good : result::bad;
    }
    return result::bad;
  }

 private:
  enum class state {
    method,
    target,
    version,
    line_end,
    name_or_end,
    name,
    space,
    value,
    last_line_end
  };

  result word(std::string& text, char c, char end, state next) {
    if (c == end) {
      state_ = next;
      return result::more;
    }
    if (static_cast<unsigned char>(c) < ' ' || c == 127) return result::bad;
    text.push_back(c);
    return result::more;
  }

  state state_ = state::method;
};

asio::awaitable<void> session(tcp::socket socket, const bench::http_service& s,
                              const std::string& body) {
  std::array<char, 8192> data;
  request_parser parser;
  request head;
  try {
    for (;;) {
      const std::size_t n =
          co_await socket.async_read_some(asio::buffer(data), asio::use_awaitable);
      for (std::size_t i = 0; i < n; ++i) {
        const request_parser::result found = parser.take(head, data[i]);
        if (found == request_parser::result::more) continue;
        if (found == request_parser::result::bad) co_return;
        head = request();
        const std::string fields = bench::http_head(s, body.size());
        const std::array<asio::const_buffer, 2> response = {asio::buffer(fields),
                                                            asio::buffer(body)};
        co_await asio::async_write(socket, response, asio::use_awaitable);
        if (s.close) co_return;
      }
    }
  } catch (const asio::system_error&) {
    // The client has closed the connection.
  }
}

asio::awaitable<void> listen(asio::io_context& context, tcp::acceptor& acceptor,
                             const bench::http_service& s, const std::string& body) {
  for (;;) {
    tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
    socket.set_option(tcp::no_delay(true));
    asio::co_spawn(context, session(std::move(socket), s, body), asio::detached);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto s = bench::http_service::from_arguments(argc, argv);
  const std::string body = s.body();
  asio::io_context context(1);
  tcp::acceptor acceptor(context, tcp::v4(), bench::http_listener());
  bench::http_ready(acceptor.local_endpoint().port());
  asio::co_spawn(context, listen(context, acceptor, s, body), asio::detached);
  context.run();
}
