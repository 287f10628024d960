// SPDX-License-Identifier: BSL-1.0
// The body of a request: decoded where it lies, received only when the handler reads it.
#include <algorithm>
#include <cstring>

#include <beck/coro/co_spawn.hpp>
#include <beck/http/target.hpp>

#include "http/connection.hpp"
#include "http/worker.hpp"

namespace beck::http::detail {
namespace {

constexpr double ns_of_a_second = 1e9;
constexpr std::string_view continue_line = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

/// Decodes the input up to the next piece of data. Returns whether there is one.
bool connection::decode() {
  exchange_state& x = *active_;
  while (x.data_bytes == 0 && !x.decoder.is_done() && x.body_refusal == refusal::none) {
    const std::string_view text = input_.view();
    const body_part part = x.decoder.decode(text);
    if (part.status == parse_status::refused) {
      x.body_refusal = x.decoder.reason();
      ending_ = true;
      return false;
    }
    if (part.data.empty()) {
      input_.consume(part.consumed);
      if (part.consumed == 0) return false;
    } else {
      x.data_at = static_cast<std::size_t>(part.data.data() - text.data());
      x.data_bytes = part.data.size();
      x.data_end = part.consumed;
      x.continue_due = false;  // the client has not waited
    }
  }
  return x.data_bytes != 0;
}

void connection::copy_data(mutable_buffer to, std::size_t& bytes) noexcept {
  exchange_state& x = *active_;
  bytes = std::min(to.size(), x.data_bytes);
  std::memcpy(to.data(), input_.view().data() + x.data_at, bytes);
  x.data_at += bytes;
  x.data_bytes -= bytes;
  if (x.data_bytes == 0) input_.consume(std::exchange(x.data_end, 0));
}

bool connection::body_is_whole() const noexcept {
  return active_->decoder.is_done() && active_->data_bytes == 0;
}

/// Sets the error of a body that ends early. Returns false for one that may go on.
bool connection::body_failed(error_code& ec) const noexcept {
  const exchange_state& x = *active_;
  if (x.body_refusal == refusal::body_late) {
    ec = error::timeout;
  } else if (x.body_refusal == refusal::body_too_long) {
    ec = make_error_code(std::errc::message_size);
  } else if (x.body_refusal != refusal::none) {
    ec = make_error_code(std::errc::bad_message);
  } else if (lost_ || x.peer_ended) {
    ec = make_error_code(std::errc::connection_reset);
  } else {
    return false;
  }
  return true;
}

bool connection::read_ready(mutable_buffer to, std::size_t& bytes, error_code& ec) {
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

/// Adds the present wait to the time that the body has taken, and judges it.
void connection::count_wait() noexcept {
  exchange_state& x = *active_;
  const limits& bounds = worker_->bounds();
  const std::int64_t now = loop_time();
  const std::int64_t paused = now - x.wait_began;
  const std::int64_t waited = x.waited_ns + paused;
  const std::int64_t grace = bounds.body_grace().nanoseconds();
  const bool too_slow = waited >= grace && static_cast<double>(x.decoder.bytes()) <
                                               static_cast<double>(bounds.body_rate()) *
                                                   (static_cast<double>(waited) / ns_of_a_second);
  if (too_slow || paused >= bounds.body_pause().nanoseconds()) {
    x.body_refusal = refusal::body_late;
    ending_ = true;
  }
}

/// Sends "100 Continue" before the first wait for a body, if the client waits for it.
void connection::send_continue() {
  if (!std::exchange(active_->continue_due, false) || active_->reply.begun) return;
  replies_.output().queue().append(continue_line);
  replies_.output().flush_now();
}

task<io_result<std::size_t>> connection::read_body(std::shared_ptr<connection> self,
                                                   mutable_buffer to) {
  connection& c = *self;
  worker& w = *c.worker_;
  exchange_state& x = *c.active_;
  std::size_t bytes = 0;
  error_code ec;
  c.send_continue();
  while (!c.read_ready(to, bytes, ec)) {
    w.clock().enter(c.receiving_, phase::body);
    x.wait_began = loop_time();
    error_code failed;
    const std::uint64_t left = x.decoder.known_bytes();
    if (x.head.framing() == body_framing::length && c.input_.empty() && to.size() <= left) {
      // Straight into the caller's memory: nothing else can follow these bytes.
      auto received = co_await c.stream_->read_some(to);
      failed = received.error();
      bytes = received.value_;
      static_cast<void>(x.decoder.decode({static_cast<const char*>(to.data()), bytes}));
    } else {
      c.input_.keep();  // no lent buffer is held by one that waits for another
      auto received = co_await c.stream_->receive();
      failed = received.error();
      if (!failed) c.input_.add(std::move(received).value());
    }
    w.clock().enter(c.receiving_, phase::none);
    if (!failed) {
      x.waited_ns += loop_time() - x.wait_began;
      x.wait_began = loop_time();
      c.count_wait();
    } else if (x.body_refusal == refusal::none && failed != error::operation_aborted) {
      x.peer_ended = true;
      c.ending_ = true;
      c.peer_ended_ = failed == error::eof;
    }
    if (failed == error::operation_aborted && x.body_refusal == refusal::none && !c.lost_) {
      ec = failed;
      break;
    }
    if (bytes != 0) break;
  }
  co_return io_result<std::size_t>(ec, bytes);
}

/// Returns whether the connection can read what is left of the body behind the reply. Only bytes
/// that have arrived, or that the client has announced, are known to be few enough.
bool connection::can_drop_rest() const noexcept {
  const exchange_state& x = *active_;
  if (body_is_whole()) return true;
  const std::size_t most = worker_->bounds().unread_body();
  std::string_view text = input_.view().substr(x.head_bytes + x.data_end);
  if (x.continue_due && text.empty()) return false;  // the client may never send it
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

/// Reads what the handler has left of the body, as the head of the reply has promised. Returns
/// false if the connection has to end, because the body does not come.
task<bool> connection::drop_body() {
  char part[1024];
  const mutable_buffer room(part, sizeof part);
  while (!body_is_whole()) {
    std::size_t bytes = 0;
    error_code ec;
    if (!read_ready(room, bytes, ec)) {
      const bool sent = co_await replies_.output().flush();
      if (!sent) co_return false;
      auto received = co_await read_body(shared_from_this(), room);
      ec = received.error();
    }
    if (ec && ec != error::eof) {
      ending_ = true;
      break;
    }
  }
  co_return !ending_;
}

bool body_read::ready() {
  std::size_t bytes = 0;
  error_code ec;
  return from_->read_ready(to_, bytes, ec) && finish(ec, bytes);
}

void body_read::initiate(handler done) {
  const any_io_executor executor = from_->executor();
  co_spawn(executor, connection::read_body(from_->shared_from_this(), to_),
           under_way_completion<std::size_t>(*from_, std::move(done)));
}

any_io_executor body_read::get_executor() const noexcept { return from_->executor(); }

}  // namespace beck::http::detail

namespace beck::http {

bool request_body::is_whole() const noexcept { return from_->body_is_whole(); }

any_io_executor request_body::get_executor() const noexcept { return from_->executor(); }

std::string_view request::path() const noexcept {
  return split_target(target()).path.substr(connection_->route().raw_prefix());
}

std::string_view request::query() const noexcept { return split_target(target()).query; }

}  // namespace beck::http
