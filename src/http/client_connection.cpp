// SPDX-License-Identifier: BSL-1.0
// Received bytes are copied out of the lent buffer at once, so no connection holds one while its
// user takes time over a body.
#include "http/client_connection.hpp"

#include <cstring>
#include <exception>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/http/client_error.hpp>
#include <beck/http/parser.hpp>

#include "http/client_pool.hpp"

namespace beck::http::detail {
namespace {

constexpr std::size_t room_again = 32'768;  // below it a write that waits goes on
constexpr std::size_t kept_bytes = 16'384;  // of the input's memory, while idle

}  // namespace

client_connection::client_connection(place at, owned_stream stream) noexcept
    : place_(std::move(at)), stream_(std::move(stream)) {
  place_.pool().add(*this);
}

client_connection::~client_connection() { close(); }

void client_connection::start() {
  co_spawn(place_.pool().executor(), receive_loop(shared_from_this()),
           [self = shared_from_this()](const std::exception_ptr& failed) {
             if (!failed) return;
             self->end_ = make_error_code(std::errc::not_enough_memory);
             self->asked_ = false;
             self->received_.set();
           });
}

task<> client_connection::receive_loop(std::shared_ptr<client_connection> self) {
  client_connection& c = *self;
  for (;;) {
    auto waited = co_await c.wanted_.wait();
    if (waited.error() || c.closed_) break;
    auto got = co_await c.receive();
    if (c.closed_) break;
    if (c.idle_) {  // a byte that nobody asked for, an end, or its time is over
      c.place_.pool().counters().discarded.add();
      c.close();
      break;
    }
    if (got.error() == error::timeout) {  // the limit of an idle time that has ended
      c.wanted_.set();
      continue;
    }
    c.asked_ = false;
    if (got.error()) {
      c.end_ = got.error();
    } else {
      const buffer_lease lease = std::move(got).value();
      const mutable_buffer room = c.input_.prepare(lease.size() + request_parser::padding);
      std::memcpy(room.data(), lease.data(), lease.size());
      c.input_.commit(lease.size());
    }
    c.received_.set();
    c.sent_.set();  // a write that waits looks at the reply
    if (c.end_) break;
  }
}

task<io_result<buffer_lease>> client_connection::receive() {
  if (!idle_) {
    auto got = co_await stream_->receive();
    co_return got;
  }
  auto got = co_await timeout(stream_->receive(), idle_time_);
  co_return got;
}

void client_connection::want_more() noexcept {
  if (asked_ || end_ || closed_) return;
  asked_ = true;
  wanted_.set();
}

void client_connection::become_idle(duration time) noexcept {
  if (input_.capacity() > kept_bytes) input_.release();
  idle_ = true;
  idle_time_ = time;
  want_more();
}

void client_connection::send(const_buffer_span parts) {
  std::size_t taken = 0;  // bytes of `parts`
  if (!sending_ && !send_error_) {
    const_buffer all[outbox::parts_max];
    std::size_t count = out_.gather(all);
    const std::size_t queued = out_.size();
    for (const const_buffer& part : parts) {
      if (count < outbox::parts_max) all[count++] = part;
    }
    error_code ec;
    const std::size_t bytes = stream_->write_now(const_buffer_span(all, count), ec);
    if (ec && ec != error::would_block) fail_sending(ec);
    out_.consume(bytes < out_.size() ? bytes : out_.size());
    taken = bytes > queued ? bytes - queued : 0;
  }
  if (send_error_) return;
  try {
    for (const const_buffer& part : parts) {
      const std::size_t skipped = taken < part.size() ? taken : part.size();
      out_.append({static_cast<const char*>(part.data()) + skipped, part.size() - skipped});
      taken -= skipped;
    }
  } catch (...) {  // a part may be among what is waiting: nothing can follow it
    fail_sending(make_error_code(std::errc::not_enough_memory));
    throw;
  }
  send_in_background();
}

void client_connection::flush_now() noexcept {
  while (!sending_ && !send_error_ && !out_.empty()) {
    const_buffer parts[outbox::parts_max];
    const std::size_t count = out_.gather(parts);
    std::size_t offered = 0;
    for (std::size_t i = 0; i < count; ++i) offered += parts[i].size();
    error_code ec;
    const std::size_t sent = stream_->write_now(const_buffer_span(parts, count), ec);
    out_.consume(sent);
    if (ec && ec != error::would_block) return fail_sending(ec);
    if (sent < offered) return;
  }
}

void client_connection::fail_sending(error_code why) noexcept {
  send_error_ = why;
  out_.clear();
}

void client_connection::flush() {
  flush_now();
  send_in_background();
}

void client_connection::send_in_background() {
  if (out_.empty() || sending_ || send_error_) return;
  sending_ = true;
  try {
    co_spawn(place_.pool().executor(), send_rest(shared_from_this()),
             [self = shared_from_this()](const std::exception_ptr& failed) {
               if (failed) self->fail_sending(make_error_code(std::errc::not_enough_memory));
               self->sending_ = false;
               self->sent_.set();
               self->received_.set();
             });
  } catch (...) {
    sending_ = false;
    throw;
  }
}

task<> client_connection::send_rest(std::shared_ptr<client_connection> self) {
  client_connection& c = *self;
  const duration limit = c.place_.pool().bounds().send();
  const_buffer parts[outbox::parts_max];
  while (!c.out_.empty() && !c.closed_) {
    const const_buffer_span waiting(parts, c.out_.gather(parts));
    auto sent = co_await timeout(c.stream_->write_some(waiting), limit);
    c.out_.consume(sent.value_);
    if (sent.error() == error::timeout) {
      c.fail_sending(client_error::send_late);
    } else if (sent.error()) {
      c.fail_sending(sent.error());
    }
    if (c.out_.size() < room_again) c.sent_.set();
  }
}

void client_connection::stop_coroutines() noexcept {
  closed_ = true;
  if (!end_) end_ = make_error_code(error::operation_aborted);
  if (!send_error_) send_error_ = end_;
  if (!sending_) out_.clear();
  if (idle_) place_.pool().forget_idle(*this);
  idle_ = false;
  place_.pool().remove(*this);
  wanted_.set();
  received_.set();
  sent_.set();
}

void client_connection::close() noexcept {
  if (closed_) return;
  stop_coroutines();
  stream_->close();
  place_.release();
}

place client_connection::surrender() noexcept {
  stop_coroutines();
  stream_->close();
  return std::move(place_);
}

owned_stream client_connection::release() noexcept {
  stop_coroutines();
  place_.release();
  return std::move(stream_);
}

}  // namespace beck::http::detail
