// SPDX-License-Identifier: BSL-1.0
// Composed reads and writes: conditions, delimiters, what remains in buffers, steps, over sockets
// and over a stream of the program's own.
#include "rows.hpp"

namespace semantics::composed {

/// A stream that is a text: gives at most `step` bytes at once, then eof. Notes the sizes that it
/// is asked for.
class text_stream {
 public:
  using executor_type = asio::io_context::executor_type;

  text_stream(asio::io_context& context, std::string text, std::size_t step)
      : context_(context), text_(std::move(text)), step_(step) {}
  executor_type get_executor() { return context_.get_executor(); }

  template <class Buffers>
  std::size_t read_some(const Buffers& buffers, asio::error_code& ec) {
    const std::size_t asked = asio::buffer_size(buffers);
    asked_ << asked;
    ec = asio::error_code();
    if (asked == 0) return 0;
    if (at_ == text_.size()) ec = asio::error::eof;
    const std::size_t n = asio::buffer_copy(buffers, asio::buffer(text_) + at_, step_);
    at_ += n;
    return n;
  }
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers) {
    asio::error_code ec;
    const std::size_t n = read_some(buffers, ec);
    if (ec) throw asio::system_error(ec);
    return n;
  }
  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return post_result(token,
                       [this, buffers](asio::error_code& ec) { return read_some(buffers, ec); });
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers, asio::error_code& ec) {
    const std::size_t asked = asio::buffer_size(buffers);
    asked_ << asked;
    const std::size_t n = std::min({asked, step_, text_.size() - at_});
    ec = asked > 0 && n == 0 ? asio::error_code(asio::error::broken_pipe) : asio::error_code();
    at_ += n;
    return n;
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return post_result(token,
                       [this, buffers](asio::error_code& ec) { return write_some(buffers, ec); });
  }
  const trace& asked() const { return asked_; }

 private:
  /// Calls `transfer` at once, and the handler later.
  template <class Token, class Transfer>
  auto post_result(Token& token, Transfer transfer) {
    return asio::async_initiate<Token, void(asio::error_code, std::size_t)>(
        [this](auto handler, Transfer now) {
          asio::error_code ec;
          const std::size_t n = now(ec);
          asio::post(context_, [h = std::move(handler), ec, n]() mutable { h(ec, n); });
        },
        token, std::move(transfer));
  }

  asio::io_context& context_;
  std::string text_;
  std::size_t step_;
  std::size_t at_ = 0;
  trace asked_;
};

/// Runs a composed read of a stream of "hello, world" in steps of five bytes.
template <class Condition>
std::string read_with(Condition condition, std::size_t size) {
  asio::io_context context;
  text_stream stream(context, "hello, world", 5), again(context, "hello, world", 5);
  std::string data(size, '.');
  asio::error_code ec;
  const std::size_t n = asio::read(stream, asio::buffer(data), condition, ec);
  trace words;
  words << n << ec << stream.asked() << "|";
  asio::async_read(again, asio::buffer(data), condition, note_size(words, "async"));
  context.run();
  words << again.asked();
  return words;
}

ROW("read: transfer_all") { return read_with(asio::transfer_all(), 9); }
ROW("read: transfer_all to the end of the stream") { return read_with(asio::transfer_all(), 20); }
ROW("read: transfer_at_least") { return read_with(asio::transfer_at_least(6), 20); }
ROW("read: transfer_at_least of zero") { return read_with(asio::transfer_at_least(0), 20); }
ROW("read: transfer_exactly") { return read_with(asio::transfer_exactly(6), 20); }
ROW("read: transfer_exactly of more than the buffer") {
  return read_with(asio::transfer_exactly(6), 4);
}
ROW("read: no buffer") { return read_with(asio::transfer_all(), 0); }
ROW("read: a condition of the program's own") {
  return read_with(
      [](const asio::error_code& ec, std::size_t n) -> std::size_t { return ec || n >= 4 ? 0 : 3; },
      20);
}
ROW("read: calls of a condition") {
  trace calls;
  const std::string result = read_with(
      [&](const asio::error_code& ec, std::size_t n) -> std::size_t {
        calls << (name_of(ec) + ":" + std::to_string(n));
        return ec ? 0 : 4;
      },
      20);
  return line(result, calls);
}
ROW("read: what is asked of a stream for a large buffer") {
  asio::io_context context;
  text_stream stream(context, std::string(200000, 'x'), 200000);
  std::string data(200000, '.');
  asio::error_code ec;
  asio::read(stream, asio::buffer(data), ec);
  return line(stream.asked());
}
ROW("read: throws") {
  asio::io_context context;
  text_stream stream(context, "abc", 5);
  char data[5];
  return thrown_by([&] { asio::read(stream, asio::buffer(data)); });
}
ROW("read: into a string") {
  asio::io_context context;
  text_stream stream(context, "hello, world", 5);
  std::string data = "> ";
  asio::error_code ec;
  const std::size_t n = asio::read(stream, asio::dynamic_buffer(data), ec);
  return line(n, ec, data);
}
ROW("read: into a string with a maximum") {
  asio::io_context context;
  text_stream stream(context, "hello, world", 5);
  std::string data;
  asio::error_code ec = asio::error::eof;
  const std::size_t n = asio::read(stream, asio::dynamic_buffer(data, 8), ec);
  return line(n, ec, data);
}
ROW("read: into a streambuf, transfer_exactly") {
  asio::io_context context;
  text_stream stream(context, "hello, world", 5);
  asio::streambuf data;
  asio::error_code ec = asio::error::eof;
  const std::size_t n = asio::read(stream, data, asio::transfer_exactly(7), ec);
  return line(n, ec, data.size());
}
ROW("async_read: into a string, to the end") {
  asio::io_context context;
  text_stream stream(context, "hello, world", 5);
  std::string data;
  trace words;
  asio::async_read(stream, asio::dynamic_buffer(data), note_size(words, "read"));
  context.run();
  words << data;
  return words;
}
ROW("write: in steps") {
  asio::io_context context;
  text_stream stream(context, std::string(12, '.'), 5), again(context, std::string(12, '.'), 5);
  asio::error_code ec = asio::error::eof;
  trace words;
  words << asio::write(stream, asio::buffer("hello, world", 12), ec) << ec << stream.asked() << "|";
  asio::async_write(again, asio::buffer("hello, world", 12), note_size(words, "async"));
  context.run();
  words << again.asked();
  return words;
}
ROW("write: an error in the middle") {
  asio::io_context context;
  text_stream stream(context, std::string(7, '.'), 5), again(context, std::string(7, '.'), 5);
  asio::error_code ec;
  trace words;
  words << asio::write(stream, asio::buffer("hello, world", 12), ec) << ec;
  asio::async_write(again, asio::buffer("hello, world", 12), note_size(words, "async"));
  context.run();
  return words;
}
ROW("write: no buffer") {
  asio::io_context context;
  text_stream stream(context, "......", 5);
  trace words;
  asio::error_code ec = asio::error::eof;
  words << asio::write(stream, asio::const_buffer(), ec) << ec;
  asio::async_write(stream, asio::const_buffer(), note_size(words, "async"));
  context.run();
  words << stream.asked();
  return words;
}
ROW("write: transfer_exactly") {
  asio::io_context context;
  text_stream stream(context, std::string(20, '.'), 5);
  asio::error_code ec;
  return line(asio::write(stream, asio::buffer("hello, world", 12), asio::transfer_exactly(7), ec),
              stream.asked());
}
ROW("write: a streambuf is consumed") {
  asio::io_context context;
  text_stream stream(context, std::string(8, '.'), 5);
  asio::streambuf data;
  std::ostream(&data) << "hello, world";
  asio::error_code ec;
  const std::size_t n = asio::write(stream, data, ec);
  return line(n, ec, data.size());
}
ROW("write: a string is consumed") {
  asio::io_context context;
  text_stream stream(context, std::string(20, '.'), 5);
  std::string data = "hello";
  trace words;
  asio::async_write(stream, asio::dynamic_buffer(data), note_size(words, "write"));
  context.run();
  words << data.size();
  return words;
}
ROW("write: two buffers are one sequence") {
  asio::io_context context;
  text_stream stream(context, std::string(20, '.'), 100);
  std::array<asio::const_buffer, 2> parts = {asio::buffer("ab", 2), asio::buffer("cde", 3)};
  asio::write(stream, parts);
  return line(stream.asked());
}

ROW("read_until: a character") {
  asio::io_context context;
  text_stream stream(context, "one\ntwo\nthree", 9);
  std::string data;
  trace words;
  words << asio::read_until(stream, asio::dynamic_buffer(data), '\n') << data.size();
  data.erase(0, 4);
  words << asio::read_until(stream, asio::dynamic_buffer(data), '\n') << data.size();
  return words;
}
ROW("read_until: no read where the delimiter is there") {
  asio::io_context context;
  text_stream stream(context, "more", 9);
  std::string data = "one\ntwo";
  const std::size_t n = asio::read_until(stream, asio::dynamic_buffer(data), '\n');
  return line(n, data.size(), stream.asked());
}
ROW("read_until: a delimiter across two reads") {
  asio::io_context context;
  text_stream stream(context, "abcd\r\nef", 5);
  std::string data;
  trace words;
  asio::async_read_until(stream, asio::dynamic_buffer(data), "\r\n", note_size(words, "read"));
  context.run();
  words << data.size();
  return words;
}
ROW("read_until: the end of the stream") {
  asio::io_context context;
  text_stream stream(context, "hello", 9), again(context, "hello", 9);
  std::string data;
  asio::streambuf buffer;
  asio::error_code ec;
  trace words;
  words << asio::read_until(stream, asio::dynamic_buffer(data), '\n', ec) << ec << data;
  asio::async_read_until(again, buffer, '\n', note_size(words, "async"));
  context.run();
  words << buffer.size();
  return words;
}
ROW("read_until: the buffer is full") {
  asio::io_context context;
  text_stream stream(context, "hello, world\n", 5), again(context, "hello, world\n", 5);
  std::string data;
  asio::streambuf buffer(8);
  asio::error_code ec;
  trace words;
  words << asio::read_until(stream, asio::dynamic_buffer(data, 8), '\n', ec) << ec << data.size();
  asio::async_read_until(again, buffer, '\n', note_size(words, "async"));
  context.run();
  words << buffer.size();
  return words;
}
ROW("read_until: the error of a full buffer") {
  asio::io_context context;
  text_stream stream(context, "hello, world\n", 5);
  std::string data;
  asio::error_code ec;
  asio::read_until(stream, asio::dynamic_buffer(data, 8), '\n', ec);
  return line(ec.category().name(), ec.value(), ec.message());
}
ROW("read_until: the buffer is full when it begins") {
  asio::io_context context;
  text_stream stream(context, "\n", 5);
  std::string data = "hello";
  asio::error_code ec;
  const std::size_t n = asio::read_until(stream, asio::dynamic_buffer(data, 5), '\n', ec);
  return line(n, ec, stream.asked());
}
ROW("read_until: an empty delimiter") {
  asio::io_context context;
  text_stream stream(context, "hello", 5);
  std::string data;
  asio::error_code ec = asio::error::eof;
  const std::size_t n = asio::read_until(stream, asio::dynamic_buffer(data), "", ec);
  return line(n, ec);
}
ROW("read_until: a streambuf keeps what follows") {
  asio::io_context context;
  text_stream stream(context, "one\ntwo\nthree", 100);
  asio::streambuf data;
  std::string first, second;
  trace words;
  words << asio::read_until(stream, data, '\n');
  std::istream in(&data);
  std::getline(in, first);
  words << first << data.size() << asio::read_until(stream, data, '\n');
  std::getline(in, second);
  words << second << data.size();
  return words;
}
struct at_digit {
  template <class Iterator>
  std::pair<Iterator, bool> operator()(Iterator begin, Iterator end) const {
    for (; begin != end; ++begin) {
      if (*begin >= '0' && *begin <= '9') return {++begin, true};
    }
    return {begin, false};
  }
};
}  // namespace semantics::composed
template <>
struct asio::is_match_condition<semantics::composed::at_digit> : std::true_type {};
namespace semantics::composed {
ROW("read_until: a condition of the program's own") {
  asio::io_context context;
  text_stream stream(context, "abc7def8", 3);
  std::string data;
  const std::size_t n = asio::read_until(stream, asio::dynamic_buffer(data), at_digit());
  return line(n, data.size());
}
ROW("read_until: sizes that are asked of a stream") {
  asio::io_context context;
  text_stream stream(context, std::string(2000, 'x') + "\n", 700);
  asio::streambuf data;
  const std::size_t n = asio::read_until(stream, data, '\n');
  return line(n, stream.asked());
}
ROW("read_until: sizes that are asked for a string") {
  asio::io_context context;
  text_stream stream(context, std::string(2000, 'x') + "\n", 700);
  std::string data;
  const std::size_t n = asio::read_until(stream, asio::dynamic_buffer(data), '\n');
  return line(n, stream.asked());
}

ROW("async_read: cancelled half-way reports its bytes") {
  asio::io_context context;
  local_pair pair(context);
  char data[8];
  trace words;
  asio::async_read(pair.near, asio::buffer(data), note_size(words, "read"));
  pair.far.write_some(asio::buffer("abc", 3));
  context.poll();
  context.poll();
  pair.near.cancel();
  context.run();
  return words;
}
ROW("async_read: the peer closes half-way") {
  asio::io_context context;
  local_pair pair(context);
  char data[8];
  trace words;
  asio::async_read(pair.near, asio::buffer(data), note_size(words, "read"));
  pair.far.write_some(asio::buffer("abc", 3));
  pair.far.close();
  context.run();
  return words;
}
ROW("async_read: of no bytes from a closed socket") {
  asio::io_context context;
  asio::ip::tcp::socket socket(context);
  trace words;
  asio::async_read(socket, asio::mutable_buffer(), note_size(words, "read"));
  context.run();
  return words;
}
ROW("async_write: more than the socket takes at once") {
  asio::io_context context;
  tcp_pair pair(context);
  const std::string much(3'000'000, 'x');
  std::string got(much.size(), '.');
  trace words;
  asio::async_write(pair.near, asio::buffer(much), note_size(words, "write"));
  asio::async_read(pair.far, asio::buffer(got), [](asio::error_code, std::size_t) {});
  context.run();
  words << (got == much);
  return words;
}
ROW("async_write: the handler is called later, also without bytes") {
  asio::io_context context;
  local_pair pair(context);
  trace words;
  asio::post(context, [&] {
    asio::async_write(pair.near, asio::const_buffer(), note_size(words, "write"));
    words << "end";
  });
  context.run();
  return words;
}

}  // namespace semantics::composed
