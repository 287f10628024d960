// SPDX-License-Identifier: BSL-1.0
//
// A client of memcached: a protocol over the library's public headers alone, as anyone can write
// one. Many calls share one connection; the commands of a turn of the loop leave in one packet; a
// server that is silent for too long ends the connection. Source: memcached's doc/protocol.txt.
#pragma once

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/event.hpp>
#include <beck/coro/semaphore.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/context_services.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/connect_stream.hpp>
#include <beck/run/byte_queue.hpp>
#include <beck/transfer/stream_writer.hpp>

#include <charconv>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace memcached {

/// How a client works.
struct options {
  beck::duration silence_timeout{5'000'000'000};  ///< of a server that owes a reply
  std::size_t calls_max = 1024;                   ///< under way at once; others wait
  std::size_t value_bytes_max = 8'388'608;        ///< of a reply
};

/// The reply to a command.
struct reply {
  beck::error_code ec;   ///< why there is none; invalid_argument for a key that cannot be
  bool is_done = false;  ///< found, stored or deleted
  std::string text;      ///< the value; or the sentence of a server that refuses the command
};

/// A connection, its output, and the calls that wait for replies, which come in their order.
class connection final : public std::enable_shared_from_this<connection>, beck::writer_source {
 public:
  connection(const beck::any_io_executor& on, beck::owned_stream stream, const options& how)
      : how_(how), stream_(std::move(stream)), writer_(*this), timer_(on), room_(how.calls_max) {
    writer_.start(on, *stream_);
  }

  /// Starts to receive, and to watch the server. Throws std::bad_alloc.
  void start() {
    beck::co_spawn(stream_->get_executor(), receive(shared_from_this()), beck::detached);
    beck::co_spawn(stream_->get_executor(), watch(shared_from_this()), beck::detached);
  }

  /// Ends everything. Calls that wait end with `why`.
  void end(const beck::error_code& why) noexcept {
    if (end_) return;
    end_ = why;
    writer_.stop();
    stream_->close();
    static_cast<void>(timer_.cancel());
    room_.release(calls_.size());
    for (call* const one : calls_) {
      if (one != nullptr) complete(*one, {why, false, {}});
    }
    calls_.clear();
  }

  /// Sends a command and waits for its reply. A call that is cancelled ends at once; its reply is
  /// dropped when it comes. `key` and `value` must stay until the task has ended.
  static beck::task<reply> run(std::shared_ptr<connection> self, std::string_view verb,
                               std::string_view key, std::optional<std::string_view> value) {
    connection& c = *self;
    call one;
    const auto room = co_await c.room_.acquire();
    one.result.ec = room.error();
    if (!one.result.ec) {
      one.result.ec = c.send(one, verb, key, value);
      if (one.result.ec) c.room_.release();
    }
    if (one.result.ec) co_return std::move(one.result);
    const auto waited = co_await one.done.wait();
    if (waited.error()) one.result.ec = waited.error();
    co_return std::move(one.result);
  }

 private:
  /// A call in the frame of its caller, which may be destroyed at any time.
  struct call {
    ~call() {
      if (waits_in == nullptr) return;
      for (call*& each : waits_in->calls_) {
        if (each == this) each = nullptr;
      }
    }

    beck::manual_reset_event done;
    reply result;
    connection* waits_in = nullptr;
  };

  static constexpr std::size_t line_bytes_max = 2048;
  static constexpr std::size_t key_bytes_max = 250;
  static constexpr std::string_view value_end = "\r\nEND\r\n";

  static beck::error_code refused() { return make_error_code(std::errc::protocol_error); }

  static bool is_key(std::string_view key) noexcept {
    for (const char c : key) {
      if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f') return false;
    }
    return !key.empty() && key.size() <= key_bytes_max;
  }

  static void complete(call& one, reply&& with) noexcept {
    one.result = std::move(with);
    one.waits_in = nullptr;
    one.done.set();
  }

  /// Adds a command to the output. Nothing was added if it returns an error.
  beck::error_code send(call& one, std::string_view verb, std::string_view key,
                        std::optional<std::string_view> value) {
    if (end_) return end_;
    if (!is_key(key)) return make_error_code(std::errc::invalid_argument);
    try {
      std::string head(verb);
      head.append(" ").append(key);
      if (value) head.append(" 0 0 ").append(std::to_string(value->size()));
      head.append("\r\n");
      out_.reserve(head.size() + (value ? value->size() + 2 : 0));
      calls_.push_back(&one);
      one.waits_in = this;
      out_.copy(head);
    } catch (const std::bad_alloc&) {
      return make_error_code(std::errc::not_enough_memory);
    }
    if (value) {
      out_.copy(*value);
      out_.copy("\r\n");
    }
    if (calls_.size() == 1) heard_at_ = beck::now(stream_->get_executor());
    writer_.schedule();
    return {};
  }

  static beck::task<> receive(std::shared_ptr<connection> self) {
    connection& c = *self;
    while (!c.end_) {
      auto got = co_await c.stream_->receive();
      if (got.error()) co_return c.end(got.error());
      const beck::buffer_lease lease = std::move(got).value();
      c.heard_at_ = beck::now(c.stream_->get_executor());
      try {
        c.input_.append(lease.data(), lease.size());
        while (!c.end_ && c.take_reply()) {}
      } catch (const std::bad_alloc&) {
        c.end(make_error_code(std::errc::not_enough_memory));
      }
      c.input_.erase(0, std::exchange(c.parsed_, 0));
    }
  }

  /// Parses one reply and completes the first call with it. Returns false if the reply is not
  /// whole; a malformed one ends the connection.
  bool take_reply() {
    const std::string_view rest = std::string_view(input_).substr(parsed_);
    const std::size_t line_bytes = rest.find("\r\n");
    const std::string_view line = rest.substr(0, line_bytes);
    if (rest.empty() || (line_bytes == rest.npos && rest.size() <= line_bytes_max)) return false;
    std::size_t bytes = line_bytes + 2;
    reply with;
    if (line_bytes == rest.npos || calls_.empty()) {
      end(refused());
      return false;
    }
    if (line.starts_with("VALUE ")) {
      std::size_t length = 0;
      const char* const digits = line.data() + line.rfind(' ') + 1;
      const auto number = std::from_chars(digits, line.data() + line.size(), length);
      if (number.ec != std::errc() || number.ptr != line.data() + line.size() ||
          length > how_.value_bytes_max) {
        end(refused());
        return false;
      }
      if (rest.size() - bytes < length + value_end.size()) return false;
      if (rest.substr(bytes + length, value_end.size()) != value_end) {
        end(refused());
        return false;
      }
      with.is_done = true;
      with.text = rest.substr(bytes, length);
      bytes += length + value_end.size();
    } else if (line == "STORED" || line == "DELETED") {
      with.is_done = true;
    } else if (line.starts_with("SERVER_ERROR ") || line.starts_with("CLIENT_ERROR ")) {
      with.ec = refused();
      with.text = line;
    } else if (line != "END" && line != "NOT_FOUND") {
      end(refused());
      return false;
    }
    parsed_ += bytes;
    call* const first = calls_.front();
    calls_.pop_front();
    room_.release();
    if (first != nullptr) complete(*first, std::move(with));
    return true;
  }

  static beck::task<> watch(std::shared_ptr<connection> self) {
    connection& c = *self;
    while (!c.end_) {
      c.timer_.expires_after(c.how_.silence_timeout);
      const auto waited = co_await c.timer_.async_wait();
      if (waited.error()) co_return;
      const beck::duration silence = beck::now(c.stream_->get_executor()) - c.heard_at_;
      if (!c.calls_.empty() && silence >= c.how_.silence_timeout) c.end(beck::error::timeout);
    }
  }

  // --- the output
  std::size_t gather(part_array& parts) override { return out_.gather(parts); }
  void take_sent(std::size_t bytes) noexcept override { out_.remove(bytes); }
  void take_write_error(const beck::error_code& why) noexcept override { end(why); }
  void hold() noexcept override { hold_.hold(shared_from_this()); }
  void let_go() noexcept override { hold_.let_go(); }

  const options how_;
  beck::owned_stream stream_;
  beck::byte_queue out_;
  beck::stream_writer writer_;
  beck::shared_hold<std::shared_ptr<connection>> hold_;
  beck::steady_timer timer_;
  beck::semaphore room_;
  std::deque<call*> calls_;  // nullptr: it was cancelled
  std::string input_;
  std::size_t parsed_ = 0;  // bytes of input_
  beck::time_point heard_at_;
  beck::error_code end_;
};

/// A client. Thread: that of its executor. Destruction ends the calls under way. A client without a
/// connection, as it is made by default, can only be assigned to, closed and destroyed.
class client {
 public:
  client() noexcept = default;
  explicit client(std::shared_ptr<connection> to) noexcept : to_(std::move(to)) {}
  client(client&&) noexcept = default;
  client& operator=(client&& other) noexcept {
    to_.swap(other.to_);
    return *this;
  }
  ~client() { close(); }

  /// Connects to a server. Errors: those of ip::connect_stream().
  static beck::task<beck::io_result<client>> connect(beck::any_io_executor on, std::string host,
                                                     std::uint16_t port, options how) {
    auto made = co_await beck::ip::connect_stream(on, host, port);
    if (made.error()) co_return beck::io_result<client>(made.error(), client());
    auto to = std::make_shared<connection>(on, std::move(made).value(), how);
    to->start();
    co_return beck::io_result<client>(beck::error_code(), client(std::move(to)));
  }

  /// Returns the value of a key. `key` must stay until the task has ended; as everywhere below.
  beck::task<reply> get(std::string_view key) { return connection::run(to_, "get", key, {}); }
  /// Stores a value.
  beck::task<reply> set(std::string_view key, std::string_view value) {
    return connection::run(to_, "set", key, value);
  }
  /// Deletes a key.
  beck::task<reply> erase(std::string_view key) { return connection::run(to_, "delete", key, {}); }

  /// Ends the connection, and the calls with operation_aborted.
  void close() noexcept {
    if (to_ != nullptr) to_->end(beck::error::operation_aborted);
  }

 private:
  std::shared_ptr<connection> to_;
};

}  // namespace memcached
