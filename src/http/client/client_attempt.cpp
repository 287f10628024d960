// SPDX-License-Identifier: BSL-1.0
// A response may come before the request is whole: an error, or a redirect, ends the request then.
#include "http/client/client_attempt.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/http/client_error.hpp>
#include <beck/io/steady_timer.hpp>

#include "http/client/client_pool.hpp"
#include "http/message/characters.hpp"

namespace beck::http::detail {
namespace {

using beck::detail::loop_time;

constexpr std::size_t unsent_max = 65'536;  // bytes that are not sent
constexpr std::int64_t second_ns = 1'000'000'000;

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

// --- the request ---------------------------------------------------------------------------------

void client_attempt::begin(std::shared_ptr<client_connection> with) {
  BECK_ASSERT(connection_ == nullptr && !output_.is_begun(), "an attempt was begun twice");
  connection_ = std::move(with);
  output_.begin(*connection_);
}

/// Parses the received bytes: see received_response::parse_head().
parse_status client_attempt::parse_head() {
  const bool had_head = response_.has_head();
  const parse_status parsed = response_.parse_head(connection_->input(), request_);
  if (!had_head && response_.has_head())
    is_early_ = !output_.is_whole() || connection_->is_sending();
  return parsed;
}

/// Returns whether the server has responded before the request has ended, and wants no more of it.
/// A response that is refused fails the call.
bool client_attempt::is_refused_early() {
  const parse_status parsed = parse_head();
  return parsed == parse_status::refused ||
         (parsed == parse_status::done &&
          (number_of(response_.head().status()) >= 400 || request_.expects_continue));
}

bool client_attempt::write_ready(const_buffer data, std::size_t& bytes, error_code& ec) {
  if (request_.expects_continue && !response_.is_continued()) return false;
  client_connection& c = *connection_;
  if (c.send_error() || c.input().end() || is_refused_early()) {
    ec = c.send_error() == client_error::send_late ? c.send_error()
                                                   : make_error_code(std::errc::broken_pipe);
    return true;
  }
  if (request_.kind == request_body_kind::length && !output_.is_short()) {
    ec = make_error_code(std::errc::message_size);
    return true;
  }
  if (c.out().size() >= unsent_max) return false;
  bytes = output_.write(c, data, unsent_max);
  // The bytes behind 101 belong to the caller, who takes the stream without a receive under way.
  // An early body waits in the socket, but for a part of it: no read takes it during the request.
  if (!response_.is_upgraded() && c.input().view().size() < unsent_max) c.input().want_more();
  return true;
}

error_code client_attempt::end_stream() {
  if (output_.is_whole()) return error_code();
  client_connection& c = *connection_;
  const bool is_refused = is_refused_early();
  if (output_.is_short()) {
    const bool may_stop = is_refused || c.send_error() || c.input().end();
    return may_stop ? response_.error() : make_error_code(client_error::wrong_length);
  }
  if (!is_refused) output_.end(c);
  c.flush();
  return response_.error();
}

task<error_code> client_attempt::wait_for_continue() {
  const std::shared_ptr<client_connection> c = connection_;
  std::int64_t left = bounds_.continue_timeout.nanoseconds();
  while (!response_.is_continued() && left > 0) {
    const parse_status parsed = parse_head();
    if (parsed == parse_status::refused) co_return response_.error();
    if (response_.is_continued() || parsed == parse_status::done || c->input().end()) break;
    c->input().want_more();
    const std::int64_t began = loop_time();
    auto waited = co_await timeout(c->input().received().wait(), duration(left));
    left -= loop_time() - began;
    if (waited.error() == error::timeout) break;
    if (waited.error()) co_return waited.error();
    if (connection_ != c) co_return error::operation_aborted;  // the call is gone
  }
  response_.stop_continue_wait();
  if (!response_.has_head() && !c->input().end() && request_.kind == request_body_kind::whole)
    output_.send_body(*c);
  co_return error_code();
}

// --- the response --------------------------------------------------------------------------------

task<error_code> client_attempt::receive_head() {
  const std::shared_ptr<client_connection> c = connection_;
  if (!output_.is_whole()) {
    const error_code ec = co_await wait_for_continue();
    if (ec) co_return ec;
  }
  std::int64_t left = 0;  // until the head is late; 0: the request is still being sent
  for (;;) {
    const parse_status parsed = parse_head();
    if (parsed == parse_status::refused) co_return response_.error();
    if (parsed == parse_status::done) co_return error_code();
    if (c->input().end()) co_return end_error();
    if (c->send_error() == client_error::send_late) co_return c->send_error();
    c->input().want_more();
    if (c->is_sending()) {  // which has a limit of its own
      auto waited = co_await c->input().received().wait();
      if (waited.error()) co_return waited.error();
      if (connection_ != c) co_return error::operation_aborted;  // by another operation
      continue;
    }
    if (left == 0) left = bounds_.head_timeout.nanoseconds();
    const std::int64_t began = loop_time();
    auto waited = co_await timeout(c->input().received().wait(), duration(left));
    left -= loop_time() - began;
    if (waited.error() == error::timeout || (!waited.error() && left <= 0)) {
      co_return client_error::head_late;
    }
    if (waited.error()) co_return waited.error();
    if (connection_ != c) co_return error::operation_aborted;
  }
}

error_code client_attempt::end_error() const noexcept {
  const client_connection& c = *connection_;
  if (c.input().end() != error::eof) return c.input().end();
  return response_.is_heard() ? client_error::cut_short : client_error::no_response;
}

bool client_attempt::decode(error_code& ec) {
  body_reader& body = response_.body();
  const parse_status decoded = body.decode(connection_->input());
  if (decoded == parse_status::refused) ec = make_error_code(body.reason());
  if (decoded == parse_status::done) end_body();
  return decoded == parse_status::more && body.has_data();
}

bool client_attempt::read_ready(mutable_buffer to, std::size_t& bytes, error_code& ec) {
  if (connection_->is_closed()) {
    ec = make_error_code(error::operation_aborted);
    return true;
  }
  if (decode(ec)) {
    bytes = response_.body().copy(connection_->input(), to);
    if (!response_.body().has_data()) static_cast<void>(decode(ec));  // the end may follow it
    return true;
  }
  if (ec) return true;
  if (response_.is_whole()) {
    ec = error::eof;
    return true;
  }
  const error_code end = connection_->input().end();
  if (!end) return false;
  const bool is_eof = end == error::eof;
  if (is_eof && response_.body().may_end_here()) {
    end_body();
    ec = error::eof;
  } else {
    ec = is_eof ? make_error_code(client_error::cut_short) : end;
  }
  return true;
}

/// Returns how long the connection may be idle; 0 if it cannot be kept. It cannot be kept after a
/// response that came before the whole request was sent: many servers then close it without notice.
duration client_attempt::keep_time() const noexcept {
  const client_connection& c = *connection_;
  const response_head& head = response_.head();
  if (!head.keeps_alive() || is_early_ || !output_.is_whole() || request_.closes ||
      c.input().end() || c.send_error() || c.is_sending() || c.input().is_receiving() ||
      !c.input().view().empty() || head.framing() == body_framing::until_close ||
      head.status() == status::switching_protocols) {
    return duration::zero();
  }
  std::int64_t time = bounds_.idle_timeout.nanoseconds();
  const std::int64_t said = keep_alive_seconds(head.get(field::keep_alive));
  // One second less, so that a request does not meet the server's close.
  if (said >= 0) time = std::min(time, std::max<std::int64_t>(said - 1, 0) * second_ns);
  return duration(time);
}

/// Ends a body that is whole: the connection serves other calls, if it can.
void client_attempt::end_body() noexcept {
  if (response_.is_whole()) return;
  response_.set_whole();
  if (response_.is_upgraded()) return;
  const duration time = keep_time();
  const std::shared_ptr<client_connection> done = std::move(connection_);
  connection_.reset();
  if (time <= duration::zero()) return done->close();
  done->room().pool().put_back(done, time);
}

taken_stream client_attempt::take_over() {
  BECK_ASSERT(response_.is_upgraded(), "a stream was taken that is still one of HTTP");
  taken_stream taken;
  taken.read_ahead.assign(connection_->input().view());
  taken.stream = connection_->release();
  connection_.reset();
  if (!response_.is_whole()) response_.set_whole();
  return taken;
}

// --- its end -------------------------------------------------------------------------------------

bool client_attempt::may_retry(const error_code& ec) const noexcept {
  return ec && connection_ != nullptr && connection_->is_reused() && !response_.is_heard() &&
         connection_->input().end() && !connection_->is_closed() && !request_.is_stream() &&
         is_idempotent(request_.method);
}

place client_attempt::surrender() noexcept {
  BECK_ASSERT(!response_.is_heard(), "a request is repeated whose response has begun");
  place left = connection_->surrender();
  connection_.reset();
  return left;
}

error_code client_attempt::drop_rest() {
  error_code ec;
  while (connection_ != nullptr && response_.has_head() && decode(ec))
    response_.body().drop(connection_->input());
  return ec;
}

void client_attempt::close() noexcept {
  if (connection_ != nullptr) connection_->close();
  connection_.reset();
}

}  // namespace beck::http::detail
