// SPDX-License-Identifier: BSL-1.0
// The body of a request: decoded in place, and received only when the handler reads it.
#include <algorithm>
#include <cstring>

#include <beck/base/assert.hpp>

#include "http/server/connection.hpp"

namespace beck::http::detail {
namespace {

constexpr double ns_of_a_second = 1e9;
constexpr std::string_view continue_line = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

/// Decodes the input up to the next piece of data. Returns whether there is one.
bool request_side::decode() {
  incoming_request& x = active();
  while (x.data_bytes == 0 && !x.decoder.is_done() && x.body_refusal == refusal::none) {
    const std::string_view text = input_.view();
    const body_part part = x.decoder.decode(text);
    if (part.status == parse_status::refused) {
      x.body_refusal = x.decoder.reason();
      connection_.serve_no_more();
      return false;
    }
    BECK_ASSERT(part.consumed <= text.size(), "a body has consumed more than the input has");
    if (part.data.empty()) {
      input_.consume(part.consumed);
      if (part.consumed == 0) return false;
    } else {
      x.data_at = static_cast<std::size_t>(part.data.data() - text.data());
      x.data_bytes = part.data.size();
      x.data_end = part.consumed;
      BECK_ASSERT(x.data_at + x.data_bytes <= x.data_end, "data outside of the consumed input");
      x.continue_due = false;  // the client has sent its body without waiting
    }
  }
  return x.data_bytes != 0;
}

void request_side::copy_data(mutable_buffer to, std::size_t& bytes) noexcept {
  incoming_request& x = active();
  BECK_ASSERT(x.head_bytes == 0 && x.data_end <= input_.view().size(),
              "decoded data has left the input");
  bytes = std::min(to.size(), x.data_bytes);
  std::memcpy(to.data(), input_.view().data() + x.data_at, bytes);
  x.data_at += bytes;
  x.data_bytes -= bytes;
  if (x.data_bytes == 0) input_.consume(std::exchange(x.data_end, 0));
}

void request_side::bound_body(std::uint64_t bytes_max) noexcept {
  incoming_request& x = active();
  BECK_ASSERT(x.data_bytes == 0, "the bound of a body changes after a part of it was decoded");
  body_limits bounds = connection_.bounds().bodies;
  x.bound_by_route = bytes_max != 0;
  if (x.bound_by_route) bounds.body_bytes = bytes_max;
  x.body_bytes_max = bounds.body_bytes;
  x.decoder = body_decoder(x.head, bounds);
  if (x.head.framing() != body_framing::length) return;
  static_cast<void>(x.decoder.decode({}));
  x.body_refusal = x.decoder.reason();
  // The rest is not read, and the head of the response has to say so.
  if (x.body_refusal != refusal::none) connection_.serve_no_more();
}

bool request_side::lower_bound(std::uint64_t bytes_max) noexcept {
  incoming_request& x = active();
  const bool is_unread = x.data_bytes == 0 && x.decoder.bytes() == 0;
  const bool is_less = bytes_max != 0 && bytes_max < x.body_bytes_max;
  if (is_less && is_unread && x.body_refusal == refusal::none) bound_body(bytes_max);
  return x.body_refusal == refusal::none;
}

bool request_side::body_is_whole() const noexcept {
  return active().decoder.is_done() && active().data_bytes == 0;
}

/// Sets the error of a body that ends early. Returns false for a body that may continue.
bool request_side::body_failed(error_code& ec) const noexcept {
  const incoming_request& x = active();
  if (x.body_refusal == refusal::body_late) {
    ec = error::timeout;
  } else if (x.body_refusal == refusal::body_too_long) {
    ec = make_error_code(std::errc::message_size);
  } else if (x.body_refusal != refusal::none) {
    ec = make_error_code(std::errc::bad_message);
  } else if (connection_.is_lost() || has_ended()) {
    ec = make_error_code(std::errc::connection_reset);
  } else {
    return false;
  }
  return true;
}

bool request_side::read_ready(mutable_buffer to, std::size_t& bytes, error_code& ec) {
  bytes = 0;
  if (to.size() == 0) return true;
  if (decode()) {
    copy_data(to, bytes);
    return true;
  }
  if (body_failed(ec)) return true;
  if (!body_is_whole()) return false;
  ec = error::eof;
  return true;
}

/// Adds the present wait to the time of the body, and fails a body that is too slow.
void request_side::count_wait() noexcept {
  incoming_request& x = active();
  const limits& bounds = connection_.bounds();
  const std::int64_t now = loop_time();
  const std::int64_t paused = now - x.wait_began;
  const std::int64_t waited = x.waited_ns + paused;
  const std::int64_t grace = bounds.body_grace.nanoseconds();
  const bool too_slow = waited >= grace && static_cast<double>(x.decoder.bytes()) <
                                               static_cast<double>(bounds.body_rate) *
                                                   (static_cast<double>(waited) / ns_of_a_second);
  if (too_slow || paused >= bounds.body_timeout.nanoseconds()) {
    x.body_refusal = refusal::body_late;
    connection_.serve_no_more();
  }
}

void request_side::check_body_wait() noexcept {
  count_wait();
  if (active().body_refusal == refusal::none) return enter(phase::body);
  error_code closed;  // the receiving coroutine notices the close
  connection_.stream().socket().cancel(closed);
}

/// Sends "100 Continue" before the first wait for a body, if the client waits for it.
void request_side::send_continue() {
  const bool is_due = std::exchange(active().continue_due, false);
  if (!is_due || connection_.responses().state().has_begun()) return;
  connection_.responses().output().queue().append(continue_line);
  connection_.responses().output().flush_now();
}

task<io_result<std::size_t>> request_side::read_body(std::shared_ptr<connection> keep,
                                                     mutable_buffer to) {
  request_side& self = keep->requests();
  incoming_request& x = self.active();
  std::size_t bytes = 0;
  error_code ec;
  self.send_continue();
  while (!self.read_ready(to, bytes, ec)) {
    self.enter(phase::body);
    x.wait_began = loop_time();
    error_code failed;
    const std::uint64_t left = x.decoder.known_bytes();
    if (x.head.framing() == body_framing::length && self.input_.empty() && to.size() <= left) {
      // Directly into the caller's memory: no other bytes can follow these.
      auto received = co_await keep->stream().read_some(to);
      failed = received.error();
      bytes = received.value_;
      BECK_ASSERT(bytes <= left, "a read has returned more than there is room for");
      static_cast<void>(x.decoder.decode({static_cast<const char*>(to.data()), bytes}));
    } else {
      self.input_.keep();  // holds no lent buffer while it waits for another
      auto received = co_await keep->stream().receive();
      failed = received.error();
      if (!failed) self.input_.add(std::move(received).value());
    }
    self.enter(phase::none);
    if (!failed) {
      x.waited_ns += loop_time() - x.wait_began;
      x.wait_began = loop_time();
      self.count_wait();
    } else if (x.body_refusal == refusal::none && failed != error::operation_aborted) {
      self.note_error(failed);
      keep->serve_no_more();
    } else if (x.body_refusal == refusal::none && !keep->is_lost()) {
      ec = failed;
      break;
    }
    if (bytes != 0) break;
  }
  co_return io_result<std::size_t>(ec, bytes);
}

bool request_side::can_drop_rest() const noexcept {
  const incoming_request& x = active();
  if (body_is_whole()) return true;
  const std::size_t most = connection_.bounds().unread_body_bytes;
  std::string_view text = input_.view().substr(x.head_bytes + x.data_end);
  if (x.continue_due && text.empty()) return false;  // the client may never send the body
  if (x.head.framing() == body_framing::length)
    return x.data_bytes + x.decoder.known_bytes() <= most;
  body_decoder rest = x.decoder;
  while (!rest.is_done()) {
    const body_part part = rest.decode(text);
    if (part.consumed == 0) return false;
    text.remove_prefix(part.consumed);
  }
  return x.data_bytes + rest.bytes() - x.decoder.bytes() <= most;
}

task<bool> request_side::drop_body() {
  char part[1024];
  const mutable_buffer room(part, sizeof part);
  while (!body_is_whole()) {
    std::size_t bytes = 0;
    error_code ec;
    if (!read_ready(room, bytes, ec)) {
      const bool sent = co_await connection_.responses().output().flush();
      if (!sent) co_return false;
      auto received = co_await read_body(connection_.shared_from_this(), room);
      ec = received.error();
    }
    if (ec && ec != error::eof) {
      connection_.serve_no_more();
      break;
    }
  }
  co_return connection_.may_go_on();
}

}  // namespace beck::http::detail
