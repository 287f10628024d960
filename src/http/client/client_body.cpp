// SPDX-License-Identifier: BSL-1.0
// The body of a response: decoded in place, and received only when it is read. After its end the
// connection returns to the pool.
#include <algorithm>
#include <charconv>
#include <cstring>

#include <beck/coro/timeout.hpp>
#include <beck/http/client_error.hpp>

#include "http/client/client_exchange.hpp"
#include "http/message/characters.hpp"

namespace beck::http::detail {
namespace {

constexpr std::int64_t ns_per_second = 1'000'000'000;
constexpr std::uint64_t reserved_max = 1'048'576;  // by read_all(), for any length in the head

/// Returns the seconds of "timeout=5" in a Keep-Alive field; a negative number if there are none.
std::int64_t keep_alive_seconds(std::string_view value) noexcept {
  constexpr std::string_view name = "timeout=";
  while (!value.empty()) {
    const std::string_view element = take_element(value);
    if (element.size() <= name.size() || !equal_in_any_case(element.substr(0, name.size()), name))
      continue;
    std::uint32_t seconds = 0;
    const std::string_view digits = element.substr(name.size());
    const std::from_chars_result read =
        std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
    if (read.ec == std::errc() && read.ptr == digits.data() + digits.size()) return seconds;
  }
  return -1;
}

}  // namespace

/// Returns how long the connection may be idle; 0 if it cannot be kept. It cannot be kept after a
/// response that came before the whole request was sent: many servers then close it without notice.
duration client_exchange::keep_time() const noexcept {
  const client_connection& c = *connection_;
  if (!head().keeps_alive() || early_ || !is_sent() || request_.closes || c.end() ||
      c.send_error() || c.is_sending() || !c.input().empty() ||
      head().framing() == body_framing::until_close ||
      head().status() == status::switching_protocols) {
    return duration::zero();
  }
  std::int64_t time = pool_->bounds().idle_timeout.nanoseconds();
  const std::int64_t said = keep_alive_seconds(head().get(field::keep_alive));
  // One second less, so that a request does not meet the server's close.
  if (said >= 0) time = std::min(time, std::max<std::int64_t>(said - 1, 0) * ns_per_second);
  return duration(time);
}

/// Ends a body that is whole: the connection serves other calls, if it can.
void client_exchange::end_body() noexcept {
  if (response_.is_whole()) return;
  response_.set_whole();
  if (connection_ == nullptr || head().status() == status::switching_protocols) return;
  const std::shared_ptr<client_connection> done = std::move(connection_);
  connection_ = done;  // keep_time() asks it
  const duration time = keep_time();
  connection_.reset();
  pool_->put_back(done, time);
}

void client_exchange::fail_body(error_code ec) noexcept {
  failed_ = ec;
  drop_connection();
}

void client_exchange::abandon() noexcept {
  if (connection_ == nullptr) return;
  if (response_.has_head() && !failed_ && operation_ != call_operation::read) {
    while (decode()) response_.drop(*connection_);  // what has arrived
  }
  if (connection_ != nullptr) connection_->close();
  connection_.reset();
}

/// Decodes the input up to the next piece of data. Returns whether there is one.
bool client_exchange::decode() {
  const parse_status decoded = response_.decode(*connection_);
  if (decoded == parse_status::refused) fail_body(make_error_code(response_.reason()));
  if (decoded == parse_status::done) end_body();
  return decoded == parse_status::more && response_.ready_bytes() != 0;
}

bool client_exchange::read_ready(mutable_buffer to, std::size_t& bytes, error_code& ec) {
  bytes = 0;
  if (to.size() == 0) return true;
  if (response_.is_whole()) {
    ec = error::eof;
    return true;
  }
  if (connection_ == nullptr) {
    ec = failed_ ? failed_ : make_error_code(error::operation_aborted);
    return true;
  }
  if (connection_->is_closed()) {
    fail_body(make_error_code(error::operation_aborted));
    ec = failed_;
    return true;
  }
  if (decode()) {
    bytes = response_.copy(*connection_, to);
    if (response_.ready_bytes() == 0) static_cast<void>(decode());  // the end may follow it
    return true;
  }
  if (response_.is_whole()) {
    ec = error::eof;
    return true;
  }
  if (connection_ == nullptr) {
    ec = failed_;
    return true;
  }
  const error_code end = connection_->end();
  if (!end) return false;
  if (end == error::eof && response_.may_end_here()) {
    end_body();
    ec = error::eof;
  } else {
    fail_body(end == error::eof ? make_error_code(client_error::cut_short) : end);
    ec = failed_;
  }
  return true;
}

/// Returns for how long a read may wait for the body now.
std::int64_t client_exchange::patience() const noexcept {
  const client_options& bounds = pool_->bounds();
  if (bounds.body_rate == 0) return bounds.body_timeout.nanoseconds();
  const double earned = static_cast<double>(response_.decoder().bytes()) / bounds.body_rate *
                        double{ns_per_second};  // the time that the received bytes may have taken
  const std::int64_t total =
      std::max<std::int64_t>(bounds.body_grace.nanoseconds(),
                             earned < 9e18 ? static_cast<std::int64_t>(earned) : INT64_MAX);
  return std::min<std::int64_t>(bounds.body_timeout.nanoseconds(), total - waited_ns_);
}

/// Returns the part of `to` that bytes may be received into directly; empty: none. It is never
/// exactly as long as the body's rest: so bytes after the body are noticed, in it or in the input.
mutable_buffer client_exchange::direct_room(mutable_buffer to) const noexcept {
  const client_connection& c = *connection_;
  if (head().framing() != body_framing::length || !c.input().empty() || c.is_receiving()) return {};
  if (to.size() == response_.decoder().known_bytes()) return {to.data(), to.size() - 1};
  return to;
}

/// Waits for more of the body. `bytes`: the number received directly into `to`.
task<error_code> client_exchange::receive_body(mutable_buffer to, std::size_t& bytes) {
  const std::shared_ptr<client_connection> c = connection_;
  const std::int64_t limit = patience();
  if (limit <= 0) co_return client_error::body_late;
  const std::int64_t began = loop_time();
  error_code ec;
  const mutable_buffer room = direct_room(to);
  const bool direct = room.size() != 0;
  if (direct) {
    auto got = co_await timeout(c->stream().read_some(room), duration(limit));
    ec = got.error();
    const std::string_view text(static_cast<const char*>(room.data()), got.value_);
    bytes = response_.decode_received(text);
    if (bytes < text.size()) c->note_end(error::eof);  // bytes after the body: serves no other call
  } else {
    c->want_more();
    auto waited = co_await timeout(c->received().wait(), duration(limit));
    ec = waited.error();
  }
  waited_ns_ += loop_time() - began;
  if (ec == error::timeout) co_return client_error::body_late;
  if (direct && ec && ec != error::operation_aborted) {
    c->note_end(ec);  // read_ready() decides about it
    co_return error_code();
  }
  co_return ec;
}

task<io_result<std::size_t>> client_exchange::read(exchange_ref self, mutable_buffer to) {
  client_exchange& x = *self;
  std::size_t bytes = 0;
  error_code ec;
  const operation_turn turn(x, call_operation::read);
  if (!turn.is_taken()) co_return io_result<std::size_t>(error::already_started, 0);
  while (!x.read_ready(to, bytes, ec)) {
    ec = co_await x.receive_body(to, bytes);
    if (ec && ec != error::operation_aborted) x.fail_body(ec);
    if (ec) break;
    if (bytes != 0) {
      if (x.response_.decoder().is_done() && x.connection_ != nullptr) x.end_body();
      break;
    }
  }
  co_return io_result<std::size_t>(ec, bytes);
}

task<io_result<std::string>> client_exchange::read_all(exchange_ref self, std::size_t limit) {
  constexpr std::size_t step = 16'384;
  client_exchange& x = *self;
  io_result<std::string> result;
  std::string& text = result.value_;
  limit = std::min(limit, text.max_size() - 1);
  if (x.has_head()) {
    text.reserve(static_cast<std::size_t>(
        std::min<std::uint64_t>({x.head().content_length(), limit, reserved_max}) + 1));
  }
  error_code ec;
  for (;;) {
    const std::size_t before = text.size();
    std::size_t room = std::min(step, limit - before + 1);  // one more byte: to see an excess
    const std::uint64_t known = x.response_.decoder().known_bytes();
    if (known != 0 && known < room) room = static_cast<std::size_t>(known) + 1;  // direct_room()
    text.resize(before + room);
    const mutable_buffer to(text.data() + before, text.size() - before);
    std::size_t bytes = 0;
    if (x.is_busy()) {
      ec = error::already_started;
    } else if (!x.read_ready(to, bytes, ec)) {
      auto got = co_await read(self, to);
      bytes = got.value_;
      ec = got.error();
    }
    text.resize(before + bytes);
    if (ec) break;
    if (text.size() > limit) {
      text.resize(limit);
      ec = make_error_code(std::errc::message_size);
      x.fail_body(ec);
      break;
    }
  }
  if (ec != error::eof) result.error_ = ec;
  co_return result;
}

}  // namespace beck::http::detail
