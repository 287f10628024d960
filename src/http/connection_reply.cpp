// SPDX-License-Identifier: BSL-1.0
// The sending side of a connection: heads, bodies, chunks, and the writes that carry them.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <beck/coro/co_spawn.hpp>

#include "http/connection.hpp"
#include "http/worker.hpp"

namespace beck::http::detail {
namespace {

constexpr std::size_t copied_max = 4096;       // larger bodies are sent before they are copied
constexpr std::size_t waiting_max = 65'536;    // above it a handler that writes has to wait
constexpr std::size_t waiting_again = 32'768;  // below it the handler continues
constexpr std::size_t chunk_max = 16'384;      // taken by one write of a handler
constexpr std::size_t framing_max = 256;       // a reply's lines that no handler has set
constexpr std::size_t digits_max = 20;

bool is_head(const request_head& of) noexcept { return of.method() == method::head; }

}  // namespace

void connection::require_no_head() const {
  if (active_->reply.begun) throw std::logic_error("http: the head of the reply was sent already");
}

/// Returns whether the reply has a body; that to HEAD only looks as if it had.
bool connection::body_allowed() const noexcept {
  return !is_bodiless(active_->reply.status) && !is_head(active_->head);
}

/// Decides whether the connection ends behind the reply, immediately before its head is written: a
/// client that keeps connections would lose the request that it sends next, if the head did not say
/// so. Until the reply is whole the connection ends in any case: an exception may leave half of it.
void connection::decide_end() noexcept {
  const exchange_state& x = *active_;
  if (ending_ || worker_->is_draining() || !x.head.keeps_alive() || !can_drop_rest())
    active_->reply.close = true;
  ending_ = true;
}

/// Writes the head of the reply to the outbox. `length`: of the body, if that is known; else the
/// body is sent in chunks, or ends with the connection.
void connection::write_head(bool has_body_length, std::uint64_t length) {
  exchange_state& x = *active_;
  reply_state& reply = x.reply;
  reply.begun = true;  // without memory in the middle of the head there is no other reply
  reply.chunked = !has_body_length && !is_bodiless(reply.status) && x.head.minor_version() != 0;
  if (!has_body_length && !reply.chunked && !is_bodiless(reply.status)) reply.close = true;
  char* const begin = outbox_.reserve(framing_max);
  char* at = begin;
  const auto put = [&at](std::string_view text) {
    std::memcpy(at, text.data(), text.size());
    at += text.size();
  };
  const unsigned number = number_of(reply.status);
  put("HTTP/1.1 ");
  for (const unsigned unit : {100U, 10U, 1U}) *at++ = static_cast<char>('0' + number / unit % 10);
  put(" ");
  put(reason_of(reply.status));
  put("\r\n");
  put(worker_->date().view());
  if (reply.chunked) {
    put("Transfer-Encoding: chunked\r\n");
  } else if (has_body_length && !is_bodiless(reply.status)) {
    put("Content-Length: ");
    at = std::to_chars(at, at + digits_max, length).ptr;
    put("\r\n");
  }
  const bool offers = reply.status == status::upgrade_required;  // the protocols in Upgrade
  if (reply.close) {
    put(offers ? "Connection: close, upgrade\r\n" : "Connection: close\r\n");
  } else if (offers) {
    put("Connection: upgrade\r\n");
  } else if (x.head.minor_version() == 0) {
    put("Connection: keep-alive\r\n");
  }
  if (reply.fields.empty()) {
    put("\r\n");
    outbox_.commit(static_cast<std::size_t>(at - begin));
  } else {
    outbox_.commit(static_cast<std::size_t>(at - begin));
    outbox_.append(reply.fields.text());
    outbox_.append("\r\n");
  }
}

void connection::send(std::string_view body) {
  exchange_state& x = *active_;
  reply_state& reply = x.reply;
  require_no_head();
  if (reply.has_length && reply.length != body.size())
    throw std::logic_error("http: a body of another length than content_length() has said");
  if (lost_) {
    reply.begun = reply.ended = true;
    return;
  }
  decide_end();
  write_head(true, body.size());
  reply.ended = true;
  if (body_allowed()) {
    reply.sent = body.size();
    if (body.size() > copied_max && !writing_) {
      // One gathered call sends what is waiting and the body; only what is left is copied.
      const_buffer parts[outbox::parts_max];
      const std::size_t count = outbox_.gather(parts);
      const std::size_t before = outbox_.size();
      if (count < outbox::parts_max) {
        parts[count] = {body.data(), body.size()};
        error_code ec;
        const std::size_t sent = stream_->write_now(const_buffer_span(parts, count + 1), ec);
        bytes_taken_ += sent;
        outbox_.consume(std::min(sent, before));
        body.remove_prefix(sent - std::min(sent, before));
        if (ec && ec != error::would_block) {
          lose();
          return;
        }
      }
    }
    if (body.size() > copied_max) {
      outbox_.append_whole(std::string(body));
    } else {
      outbox_.append(body);
    }
  }
  schedule_flush();
  ending_ = reply.close;
}

/// Sends the head of a reply whose body the handler writes in parts.
void connection::begin_stream() {
  const reply_state& reply = active_->reply;
  decide_end();
  write_head(reply.has_length, reply.length);
  ending_ = reply.close;
}

bool connection::has_room() const noexcept { return outbox_.size() < waiting_max; }

/// Adds a part of the body to the outbox, as a chunk if that is its form.
void connection::append_part(std::string_view text) {
  if (!active_->reply.chunked) return outbox_.append(text);
  char* const line = outbox_.reserve(digits_max);
  char* at = std::to_chars(line, line + digits_max, text.size(), 16).ptr;
  *at++ = '\r';
  *at++ = '\n';
  outbox_.commit(static_cast<std::size_t>(at - line));
  outbox_.append(text);
  outbox_.append("\r\n");
}

/// Takes a part of the body. Returns false if the handler has to wait for room. Throws
/// std::bad_alloc; the connection is lost then, as nothing can follow half a part.
bool connection::write_ready(const_buffer data, std::size_t& bytes, error_code& ec) {
  reply_state& reply = active_->reply;
  bytes = 0;
  if (lost_) {
    ec = make_error_code(std::errc::broken_pipe);
  } else if (reply.ended) {
    ec = make_error_code(std::errc::invalid_argument);
  } else if (reply.has_length && data.size() > reply.length - reply.sent) {
    ec = make_error_code(std::errc::message_size);
  } else if (data.size() == 0) {
    return true;
  }
  if (ec) return true;
  try {
    if (!reply.begun) begin_stream();
    if (!has_room()) return false;
    const std::string_view text(static_cast<const char*>(data.data()), data.size());
    if (body_allowed()) append_part(text.substr(0, chunk_max));
  } catch (...) {
    lose();
    throw;
  }
  bytes = std::min(data.size(), chunk_max);
  reply.sent += bytes;
  if (!outbox_.empty()) schedule_flush();
  return true;
}

bool connection::flush_ready(error_code& ec) {
  reply_state& reply = active_->reply;
  if (!lost_ && !reply.begun) begin_stream();
  flush_now();
  if (lost_) ec = make_error_code(std::errc::broken_pipe);
  return lost_ || outbox_.empty();
}

/// Ends the reply of a handler that has ended without an exception.
void connection::finish_reply() {
  reply_state& reply = active_->reply;
  if (!reply.begun && (!reply.has_length || reply.length == 0)) {
    send({});
  } else if (!reply.ended) {
    if (!reply.begun) begin_stream();  // all of a reply to HEAD
    reply.ended = true;
    if ((reply.broken || (reply.has_length && reply.sent != reply.length)) && body_allowed()) {
      note_cut();  // the promise is broken: only the end of the connection tells
      ending_ = true;
    } else if (reply.chunked && body_allowed()) {
      outbox_.append("0\r\n\r\n");
    }
  }
}

// --- writes --------------------------------------------------------------------------------------

/// Makes sure that the outbox is sent when the present code has returned to the loop.
void connection::schedule_flush() {
  if (deferring_ || flush_request_.keep != nullptr || writing_) return;
  if (outbox_.size() >= waiting_max) {
    flush_now();
    if (!outbox_.empty()) start_writing();
    return;
  }
  flush_request_.keep = shared_from_this();
  worker_->executor().post(&flush_request_);
}

void connection::flush_entry(beck::detail::queue_entry* entry, beck::detail::runner* where) {
  const std::shared_ptr<connection> self = std::move(static_cast<flush_request*>(entry)->keep);
  if (where == nullptr) return;
  self->flush_now();
  if (!self->outbox_.empty()) self->start_writing();
}

/// Sends as much as the socket takes at once. `last`: the end of the connection follows.
void connection::flush_now(bool last) noexcept {
  if (writing_ || lost_) return;
  error_code ec;
  bytes_taken_ += outbox_.send_now(*stream_, ec, last);
  if (ec) lose();
}

/// Lets nothing else write, and watches that the peer takes bytes, until stop_writing().
void connection::begin_writing() {
  worker_->clock().enter(sending_, phase::reply);
  writing_ = true;
  written_.reset();
  taken_at_check_ = bytes_taken_;
}

/// Starts to send the outbox in the background. Without memory for that the connection is lost: the
/// callers are often inside the loop, where an exception would end the whole context.
void connection::start_writing() noexcept {
  if (writing_ || lost_) return;
  begin_writing();
  try {
    co_spawn(worker_->executor(), write_rest(shared_from_this()),
             [self = shared_from_this()](const std::exception_ptr& failed) {
               if (failed) self->lose();  // no memory
               self->stop_writing();
             });
  } catch (...) {
    lose();
    stop_writing();
  }
}

/// Sends everything. Returns false if the connection is lost.
task<bool> connection::flush() {
  flush_now();
  if (!outbox_.empty() && !lost_) start_writing();
  while (writing_) {
    auto waited = co_await written_.wait();
    if (waited.error()) co_return false;
  }
  co_return !lost_;
}

task<> connection::write_rest(std::shared_ptr<connection> self) {
  connection& c = *self;
  const_buffer parts[outbox::parts_max];
  while (!c.outbox_.empty() && !c.lost_) {
    const std::size_t count = c.outbox_.gather(parts);
    const const_buffer_span waiting(parts, count);
    auto sent = co_await c.stream_->write_some(waiting);
    c.bytes_taken_ += sent.value_;
    c.outbox_.consume(sent.value_);
    if (sent.error() && sent.error() != error::operation_aborted) c.lose();
    if (c.outbox_.size() < waiting_again) c.wake_writers();
  }
}

void connection::stop_writing() {
  worker_->clock().enter(sending_, phase::none);
  writing_ = false;
  if (lost_) outbox_.clear();
  written_.set();
  wake_writers();
  if (!lost_ && !outbox_.empty()) start_writing();  // what was added meanwhile
}

void connection::wait_for_room(const_buffer data, reply_write::handler done) {
  room_data_ = data;
  room_done_ = std::move(done);
  waits_for_room_ = true;
  if (!writing_) start_writing();
}

void connection::cancel_room() noexcept {
  if (!std::exchange(waits_for_room_, false)) return;
  reply_write::handler done = std::move(room_done_);
  done(error::operation_aborted, 0);
}

void connection::wait_for_flush(reply_flush::handler done) {
  flush_done_ = std::move(done);
  waits_for_flush_ = true;
  if (!writing_) start_writing();
}

void connection::cancel_flush() noexcept {
  if (!std::exchange(waits_for_flush_, false)) return;
  reply_flush::handler done = std::move(flush_done_);
  done(error::operation_aborted);
}

/// Lets operations of the handler continue that wait for the outbox.
void connection::wake_writers() {
  if (waits_for_room_ && (lost_ || outbox_.size() < waiting_again)) {
    waits_for_room_ = false;
    reply_write::handler done = std::move(room_done_);
    std::size_t bytes = 0;
    error_code ec;
    try {
      static_cast<void>(write_ready(room_data_, bytes, ec));
    } catch (...) {
      ec = make_error_code(std::errc::not_enough_memory);
    }
    done(ec, bytes);
  }
  if (waits_for_flush_ && (lost_ || outbox_.empty())) {
    waits_for_flush_ = false;
    reply_flush::handler done = std::move(flush_done_);
    done(lost_ ? make_error_code(std::errc::broken_pipe) : error_code());
  }
}

}  // namespace beck::http::detail
