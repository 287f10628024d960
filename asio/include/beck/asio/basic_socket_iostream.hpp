// SPDX-License-Identifier: BSL-1.0
// Sockets as streams of the standard library: tcp::iostream, local::stream_protocol::iostream.
// Their calls block the thread, at most until an expiry.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <istream>
#include <iterator>
#include <limits>
#include <memory>
#include <streambuf>
#include <utility>

#include <beck/asio/config.hpp>
#include <beck/asio/error.hpp>
#include <beck/io/io_context.hpp>
#include <beck/net/stream_socket.hpp>

namespace beck {

/// The buffer of a socket's stream: 512 bytes for each direction. Thread: one at a time.
template <class Protocol>
class basic_socket_streambuf : public std::streambuf {
 public:
  /// The protocol.
  using protocol_type = Protocol;
  /// The type of the endpoints.
  using endpoint_type = typename Protocol::endpoint;
  /// The clock of the expiry.
  using clock_type = std::chrono::steady_clock;
  /// A point in time of that clock.
  using time_point = clock_type::time_point;
  /// A time of that clock.
  using duration = clock_type::duration;
  /// The socket.
  using socket_type = basic_stream_socket<Protocol>;

  /// Makes a buffer without a connection, on a context of its own.
  basic_socket_streambuf() : context_(std::make_unique<io_context>()), socket_(*context_) {
    empty();
  }
  /// Takes over a connected socket.
  explicit basic_socket_streambuf(socket_type socket) : socket_(std::move(socket)) { empty(); }
  basic_socket_streambuf(const basic_socket_streambuf&) = delete;
  basic_socket_streambuf& operator=(const basic_socket_streambuf&) = delete;
  /// Sends the buffered bytes.
  ~basic_socket_streambuf() override {
    if (pptr() != pbase()) flush();
  }

  /// Connects to an endpoint, to the first endpoint of a range that accepts, or, with the arguments
  /// of the resolver's resolve(), to the first of its results that accepts. Drops the buffered
  /// bytes. Returns this; nullptr on failure, with error().
  template <class... Args>
  basic_socket_streambuf* connect(const Args&... args) {
    empty();
    error_ = beck::error_code();
    if constexpr (sizeof...(Args) == 1 &&
                  (std::is_convertible_v<const Args&, endpoint_type> && ...)) {
      connect_to(endpoint_type(args...));
    } else if constexpr (sizeof...(Args) == 1) {
      connect_to_first(args...);
    } else {
      typename Protocol::resolver resolver(socket_.get_executor());
      const auto found = resolver.resolve(args..., error_);
      if (!error_) connect_to_first(found);
    }
    return error_ ? nullptr : this;
  }
  /// Sends the buffered bytes and closes the connection. Returns this; nullptr on failure, with
  /// error().
  basic_socket_streambuf* close() {
    error_ = beck::error_code();
    sync();
    beck::error_code closing;
    socket_.close(closing);
    if (closing) error_ = closing;
    empty();
    return error_ ? nullptr : this;
  }

  /// Returns the socket.
  socket_type& socket() noexcept { return socket_; }
  /// Returns the error of the last call.
  const beck::error_code& error() const noexcept { return error_; }
  /// Returns the expiry, the time at which connects, reads and writes end with timed_out.
  time_point expiry() const noexcept { return expiry_; }
  /// Sets the expiry.
  void expires_at(time_point at) noexcept { expiry_ = at; }
  /// Sets the expiry to `after` from now.
  void expires_after(duration after) { expiry_ = clock_type::now() + after; }

 protected:
  /// Receives. The last bytes that were read stay in front of the new ones, to be put back.
  int_type underflow() override {
    char* const first = in_.data() + putback_bytes;
    const auto read = static_cast<std::size_t>(gptr() - eback());
    const std::size_t kept = read < putback_bytes ? read : putback_bytes;
    std::memmove(first - kept, gptr() - kept, kept);
    setg(first - kept, first, first);
    const std::size_t received = transfer(POLLIN, [this, first](beck::error_code& ec) {
      return socket_.read_some(buffer(first, in_.size() - putback_bytes), ec);
    });
    if (received == 0) return traits_type::eof();
    setg(first - kept, first, first + received);
    return traits_type::to_int_type(*gptr());
  }
  /// Sends the buffered bytes, and buffers `c`.
  int_type overflow(int_type c) override {
    if (!flush()) return traits_type::eof();
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char one = traits_type::to_char_type(c);
    if (is_buffered_) return sputc(one);
    return send(&one, 1) ? c : traits_type::eof();
  }
  /// Sends the buffered bytes.
  int sync() override { return flush() ? 0 : -1; }
  /// Without memory, ends the buffering: each write is sent at once. Fails with other memory.
  std::streambuf* setbuf(char* memory, std::streamsize bytes) override {
    if (memory != nullptr || bytes != 0 || !flush()) return nullptr;
    is_buffered_ = false;
    setp(nullptr, nullptr);
    return this;
  }

 private:
  static constexpr std::size_t putback_bytes = 8;

  /// Drops the buffered bytes of both directions.
  void empty() noexcept {
    char* const first = in_.data() + putback_bytes;
    setg(first, first, first);
    if (is_buffered_) setp(out_.data(), out_.data() + out_.size());
  }
  bool flush() {
    const bool sent = send(pbase(), static_cast<std::size_t>(pptr() - pbase()));
    if (sent && is_buffered_) setp(out_.data(), out_.data() + out_.size());
    return sent;
  }
  bool send(const char* data, std::size_t bytes) {
    while (bytes > 0) {
      const std::size_t sent = transfer(POLLOUT, [&](beck::error_code& ec) {
        return socket_.write_some(buffer(data, bytes), ec);
      });
      if (sent == 0) return false;
      data += sent;
      bytes -= sent;
    }
    return true;
  }

  /// Makes the calls of a socket non-blocking while it exists: the mode is the program's to set.
  class non_blocking_scope {
   public:
    explicit non_blocking_scope(socket_type& socket) noexcept
        : socket_(socket), before_(socket.non_blocking()) {
      set(true);
    }
    non_blocking_scope(const non_blocking_scope&) = delete;
    non_blocking_scope& operator=(const non_blocking_scope&) = delete;
    ~non_blocking_scope() { set(before_); }

   private:
    void set(bool mode) noexcept {
      beck::error_code closed;  // the calls report it
      socket_.non_blocking(mode, closed);
    }
    socket_type& socket_;
    bool before_;
  };

  /// Calls `attempt` until it does not fail with would_block, waiting in between. Returns the
  /// number of bytes; 0 on failure, with error_.
  template <class Attempt>
  std::size_t transfer(short events, Attempt attempt) {
    error_ = beck::error_code();
    const non_blocking_scope mode(socket_);
    for (;;) {
      if (clock_type::now() > expiry_) return fail(error::timed_out);
      const std::size_t bytes = attempt(error_);
      if (!error_) return bytes;
      if (error_ != error::would_block) return 0;
      if (!wait(events)) return 0;
    }
  }
  std::size_t fail(const beck::error_code& ec) {
    error_ = ec;
    return 0;
  }
  /// Waits until the socket is ready. Returns false on failure, with error_.
  bool wait(short events) {
    for (;;) {
      pollfd one{socket_.native_handle(), events, 0};
      const int ready = ::poll(&one, 1, timeout_ms());
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) {
        error_ = beck::error_code(errno, std::system_category());
        return false;
      }
      if (clock_type::now() > expiry_) {
        error_ = error::timed_out;
        return false;
      }
    }
  }
  int timeout_ms() const {
    if (expiry_ == time_point::max()) return -1;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(expiry_ - clock_type::now()).count();
    constexpr int longest = std::numeric_limits<int>::max();
    return left < 0 ? 0 : left > longest ? longest : static_cast<int>(left);
  }

  template <class Range>
  void connect_to_first(const Range& endpoints) {
    error_ = error::not_found;
    for (const auto& one : endpoints) {
      connect_to(endpoint_type(one));
      if (!error_) return;
    }
  }
  void connect_to(const endpoint_type& endpoint) {
    beck::error_code ignored;
    socket_.close(ignored);
    error_ = beck::error_code();
    socket_.open(endpoint.protocol(), error_);
    const non_blocking_scope mode(socket_);
    if (!error_ && clock_type::now() > expiry_) error_ = error::timed_out;
    if (!error_) socket_.connect(endpoint, error_);
    if (error_ != error::would_block && error_ != error::in_progress) return;
    if (!wait(POLLOUT)) return;
    int failure = 0;
    socklen_t bytes = sizeof failure;
    if (::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_ERROR, &failure, &bytes) != 0)
      failure = errno;
    error_ = beck::error_code(failure, std::system_category());
  }

  std::unique_ptr<io_context> context_;  // nullptr for a socket that was taken over
  socket_type socket_;
  beck::error_code error_;
  time_point expiry_ = time_point::max();
  bool is_buffered_ = true;
  std::array<char, 512> in_;
  std::array<char, 512> out_;
};

/// A stream of the standard library over a socket. Thread: one at a time.
template <class Protocol>
class basic_socket_iostream : public std::iostream {
 public:
  /// The buffer.
  using streambuf_type = basic_socket_streambuf<Protocol>;
  /// The protocol.
  using protocol_type = Protocol;
  /// The type of the endpoints.
  using endpoint_type = typename Protocol::endpoint;
  /// The clock of the expiry.
  using clock_type = typename streambuf_type::clock_type;
  /// A point in time of that clock.
  using time_point = typename streambuf_type::time_point;
  /// A time of that clock.
  using duration = typename streambuf_type::duration;

  /// Makes a stream without a connection. Each output operation sends its bytes at its end
  /// (std::ios_base::unitbuf), as in Asio.
  basic_socket_iostream() : basic_socket_iostream(std::make_unique<streambuf_type>()) {}
  /// Takes over a connected socket.
  explicit basic_socket_iostream(typename streambuf_type::socket_type socket)
      : basic_socket_iostream(std::make_unique<streambuf_type>(std::move(socket))) {}
  /// Connects: see connect().
  template <class First, class... More>
    requires(!std::is_base_of_v<std::ios_base, std::remove_cvref_t<First>> &&
             !std::is_same_v<std::remove_cvref_t<First>, std::unique_ptr<streambuf_type>> &&
             !std::is_same_v<std::remove_cvref_t<First>, typename streambuf_type::socket_type>)
  explicit basic_socket_iostream(First&& first, More&&... more) : basic_socket_iostream() {
    connect(first, more...);
  }
  basic_socket_iostream(basic_socket_iostream&& other)
      : std::iostream(std::move(other)), buffer_(std::move(other.buffer_)) {
    set_rdbuf(buffer_.get());
  }
  basic_socket_iostream& operator=(basic_socket_iostream&& other) {
    std::iostream::operator=(std::move(other));
    buffer_ = std::move(other.buffer_);
    set_rdbuf(buffer_.get());
    return *this;
  }

  /// Connects as the buffer's connect(). A failure sets failbit.
  template <class... Args>
  void connect(const Args&... args) {
    if (buffer_->connect(args...) == nullptr) setstate(std::ios_base::failbit);
  }
  /// Closes the connection. A failure sets failbit.
  void close() {
    if (buffer_->close() == nullptr) setstate(std::ios_base::failbit);
  }
  /// Returns the buffer.
  streambuf_type* rdbuf() const { return buffer_.get(); }
  /// Returns the socket.
  typename streambuf_type::socket_type& socket() { return buffer_->socket(); }
  /// Returns the error of the last call.
  const beck::error_code& error() const { return buffer_->error(); }
  /// Returns the expiry.
  time_point expiry() const { return buffer_->expiry(); }
  /// Sets the expiry of all calls.
  void expires_at(time_point at) { buffer_->expires_at(at); }
  /// Sets the expiry of all calls to `after` from now.
  void expires_after(duration after) { buffer_->expires_after(after); }

 private:
  explicit basic_socket_iostream(std::unique_ptr<streambuf_type> made)
      : std::iostream(made.get()), buffer_(std::move(made)) {
    setf(std::ios_base::unitbuf);
  }

  std::unique_ptr<streambuf_type> buffer_;
};

}  // namespace beck

BECK_ASIO_BEGIN

/// The stream of a protocol; its clock is the steady one, whatever else the program names.
template <class Protocol, class... Ignored>
using basic_socket_iostream = beck::basic_socket_iostream<Protocol>;
/// Its buffer.
template <class Protocol, class... Ignored>
using basic_socket_streambuf = beck::basic_socket_streambuf<Protocol>;

BECK_ASIO_END
