// SPDX-License-Identifier: BSL-1.0
//
// One coroutine connects and receives, one writes what has gathered meanwhile.
#include "shared_connection.hpp"

#include <fmt/format.h>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/coro/within.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/local.hpp>
#include <beck/net/socket_stream.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/bind.hpp>
#include <exception>
#include <new>
#include <utility>

#include "shared_client.hpp"

namespace beck_redis_proxy {
namespace {

constexpr std::size_t commands_most = 16'384;
constexpr std::size_t queued_bytes_most = 4 * 1024 * 1024;
constexpr std::size_t refusal_bytes_most = 4096;  // of HELLO
constexpr std::size_t kept_bytes = 64 * 1024;     // of a buffer that is empty
constexpr std::string_view replica_error = "-READONLY ";
constexpr beck::duration leave_pause(1'000'000'000);  // before it leaves its server again

void clear(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kept_bytes) buffer.shrink_to_fit();
}

}  // namespace

shared_connection::shared_connection(beck::io_context& context, const settings& asked,
                                     beck::redis::protocol version, server_target& target,
                                     counters& relayed, shared_counters& counts, server_log& log)
    : context_(context),
      asked_(asked),
      version_(version),
      target_(target),
      relayed_(relayed),
      counts_(counts),
      log_(log) {}

void shared_connection::send(std::shared_ptr<shared_client> from, std::string_view bytes) {
  commands_.push_back({std::move(from), sent_ + bytes.size()});
  try {
    out_.append(bytes);
  } catch (...) {  // the next reply would be taken for that of this command
    commands_.pop_back();
    throw;
  }
  sent_ += bytes.size();
  ++counts_.commands;
  ++counts_.waiting;
  if (commands_.size() >= commands_most || out_.size() >= queued_bytes_most) room_.reset();
  has_output_.set();
  if (!is_living_) begin();
}

void shared_connection::close() noexcept {
  is_closed_ = true;
  stop_.emit(beck::cancellation_type::terminal);
}

/// Opens the room once half of it is free: all clients that wait for it are woken, and to wake
/// thousands for each reply would cost more than the replies.
void shared_connection::open_room() noexcept {
  const bool is_half_free =
      commands_.size() <= commands_most / 2 && out_.size() <= queued_bytes_most / 2;
  if (is_half_free && !room_.is_set()) room_.set();
}

void shared_connection::begin() {
  const auto at_end = [this](std::exception_ptr error) {
    if (error && !is_closed_) std::rethrow_exception(error);
  };
  beck::co_spawn(context_, live(), beck::bind_cancellation_slot(stop_.slot(), at_end));
  is_living_ = true;
}

void shared_connection::break_off() noexcept {
  is_broken_ = true;
  if (stream_) stream_->close();
  has_output_.set();
  ended_.request_stop();
}

template <class Socket>
beck::task<beck::io_result<std::uint64_t>> shared_connection::open_socket() {
  Socket socket(context_);
  auto connecting = target_.connect(socket);
  const auto primary = co_await std::move(connecting);
  if (primary) stream_ = beck::owned_stream(new beck::socket_stream(std::move(socket)));
  co_return primary;
}

beck::task<beck::io_result<std::uint64_t>> shared_connection::open() {
  return asked_.server.path.empty() ? open_socket<beck::ip::tcp::socket>()
                                    : open_socket<beck::local::stream_protocol::socket>();
}

/// Lives until the connection ends; goes on over another one, if it has left its server.
beck::task<> shared_connection::live() {
  std::string error_line;
  bool goes_on = true;
  while (goes_on) {
    auto living = live_once();
    error_line = co_await std::move(living);
    goes_on = is_leaving_ && has_answered_all() && !commands_.empty() && !is_closed_;
  }
  is_living_ = false;
  end_commands(error_line);
}

/// Connects, and relays until the connection ends. Returns the reply to commands that were not
/// sent.
beck::task<std::string> shared_connection::live_once() {
  is_broken_ = is_leaving_ = false;
  if (target_.may_change()) ended_ = beck::stop_source();
  auto opening = open();
  const auto primary = co_await std::move(opening);
  std::string why;
  std::string refusal;
  if (is_closed_) {
    why = "is stopped";
  } else if (primary.error()) {
    why = log_.note_lost(target_.reason(primary.error()));
  } else {
    log_.note_reached();
    replies_ = reply_splitter();
    ++counts_.connections;
    auto greeting = greet();
    refusal = co_await std::move(greeting);
    if (refusal.empty()) {
      auto all = beck::when_all(receive(), write(), end_at_switch(*primary));
      beck::ignore(co_await std::move(all));
    }
    --counts_.connections;
    stream_ = beck::owned_stream();
    why = fmt::format("lost its connection to {}; the command was not sent", asked_.server.url);
  }
  const bool is_refused = refusal.starts_with('-');
  co_return is_refused ? refusal : fmt::format("-ERR beck-redis-proxy {}\r\n", why);
}

/// Lets the server speak the version of the connection, before any command. Returns the server's
/// refusal, a line that begins with "-"; another text if the connection has ended; nothing if it
/// goes on.
beck::task<std::string> shared_connection::greet() {
  std::string line;
  if (version_ == beck::redis::protocol::resp2) co_return line;
  auto greeting = beck::timeout(say_hello(line), asked_.connect);
  const auto said = co_await std::move(greeting);
  const bool has_answered = !said.error() && *said;
  if (has_answered && !line.starts_with('-')) co_return std::string();
  co_return has_answered ? line : std::string("lost");
}

/// Says HELLO 3. Returns whether one whole reply has come, whose first bytes are in `line` then.
beck::task<bool> shared_connection::say_hello(std::string& line) {
  constexpr std::string_view hello = "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n";
  const beck::const_buffer part(hello.data(), hello.size());  // the first bytes find room
  auto writing = stream_->write_some(beck::const_buffer_span(&part, 1));
  const auto wrote = co_await std::move(writing);
  if (wrote.error() || wrote.value_ != hello.size()) co_return false;
  for (;;) {
    auto receiving = stream_->receive();
    const auto got = co_await std::move(receiving);
    if (got.error()) co_return false;
    const std::string_view bytes((*got).data(), (*got).size());
    if (line.size() < refusal_bytes_most) line.append(bytes);
    const reply_part reply = replies_.next(bytes);
    if (reply.is_refused || reply.bytes != bytes.size()) co_return false;  // no reply, or two
    if (reply.is_last) co_return true;
  }
}

beck::task<> shared_connection::receive() {
  try {
    while (!is_broken_) {
      const auto got = co_await stream_->receive();
      if (got.error() || !take({(*got).data(), (*got).size()})) break;
    }
  } catch (const std::bad_alloc&) {  // the connection ends, and its memory comes back
  }
  break_off();
}

/// Ends the connection when another server becomes the primary.
beck::task<> shared_connection::end_at_switch(std::uint64_t primary) {
  if (!target_.may_change()) co_return;
  auto waiting = beck::with_stop(ended_.get_token(), target_.left(primary));
  const auto left = co_await std::move(waiting);
  if (!left.error()) ++target_.counts().left;
  break_off();
}

beck::task<> shared_connection::write() {
  while (!is_broken_ && !is_leaving_) {
    if (out_.empty()) {
      const auto waited = co_await has_output_.wait();
      if (waited.error()) break;
      continue;
    }
    writing_.swap(out_);
    open_room();
    std::string_view left = writing_;
    while (!left.empty() && !is_broken_) {
      const beck::const_buffer part(left.data(), left.size());
      auto writing = stream_->write_some(beck::const_buffer_span(&part, 1));
      const auto wrote = co_await std::move(writing);
      written_ += wrote.value_;
      relayed_.to_server += wrote.value_;
      left.remove_prefix(wrote.value_);
      if (wrote.error()) break_off();
    }
    if (!left.empty()) is_leaving_ = false;  // the rest cannot go over another connection
    clear(writing_);
  }
  if (!is_leaving_ || has_answered_all()) break_off();
}

/// Passes the replies in `bytes` on. Returns false if they are no replies, or reply to no command.
bool shared_connection::take(std::string_view bytes) {
  while (!bytes.empty()) {
    if (replies_.is_between() && bytes.starts_with(replica_error)) leave();
    const reply_part part = replies_.next(bytes);
    if (part.is_refused || commands_.empty()) return false;
    commands_.front().from->take(bytes.substr(0, part.bytes), part.is_last);
    bytes.remove_prefix(part.bytes);
    if (!part.is_last) continue;
    commands_.pop_front();
    --counts_.waiting;
    open_room();
  }
  return !is_leaving_ || !has_answered_all();
}

/// Sends no more to a server that has become a replica, at most once in leave_pause: a client that
/// connects again would not get away from it. Sentinels say when, and to which server.
void shared_connection::leave() noexcept {
  const beck::time_point now = beck::steady_now();
  const bool was_just_left = left_at_ != beck::time_point() && now - left_at_ < leave_pause;
  if (is_leaving_ || was_just_left || target_.may_change()) return;
  is_leaving_ = true;
  left_at_ = now;
  has_output_.set();
}

/// Returns whether nothing is being written, and all that was written has its reply.
bool shared_connection::has_answered_all() const noexcept {
  return writing_.empty() && (commands_.empty() || commands_.front().end > written_);
}

/// Ends the commands of a connection. A client with a command that the kernel has taken is ended,
/// because that may have run; another one gets an error for each, and goes on.
void shared_connection::end_commands(std::string_view error_line) {
  for (const command& one : commands_) {
    if (one.end <= written_ && one.from->is_receiving()) {
      ++counts_.lost;
      one.from->lose();
    } else if (one.from->is_receiving()) {
      ++counts_.not_sent;
      one.from->refuse(error_line);
    }
  }
  counts_.waiting -= commands_.size();
  commands_.clear();
  clear(out_);
  clear(writing_);
  sent_ = written_ = 0;
  has_output_.reset();
  open_room();
}

}  // namespace beck_redis_proxy
