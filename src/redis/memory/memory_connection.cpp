// SPDX-License-Identifier: BSL-1.0
// Receiving goes on while a command waits, so that the end of a client is noticed, up to a bound.
#include "redis/memory/memory_connection.hpp"

#include <string>
#include <string_view>
#include <utility>

#include <beck/coro/this_coro.hpp>
#include <beck/run/post.hpp>

namespace beck::redis::detail {
namespace {

constexpr std::size_t receive_bytes = 16'384;
constexpr std::size_t held_bytes_max = 1'048'576;  // that arrive while nothing is executed
constexpr std::size_t flush_bytes = 65'536;        // replies of one turn, before they are queued
constexpr unsigned commands_per_turn = 256;

std::string_view text_of(const flat_buffer& bytes) noexcept {
  const const_buffer all = bytes.data();
  return {static_cast<const char*>(all.data()), all.size()};
}

}  // namespace

memory_connection::memory_connection(std::shared_ptr<memory_hub> hub,
                                     const any_io_executor& executor)
    : hub_(std::move(hub)),
      stream_(executor),
      queue_(stream_.socket(), hub_->options().output_bytes),
      parser_(request_limits(), request_parser::inline_commands::allowed) {}

memory_connection::~memory_connection() { hub_->remove(*this); }

task<> memory_connection::receive(std::shared_ptr<memory_connection> self) {
  memory_connection& c = *self;
  mutable_buffer to;
  for (;;) {
    while (c.is_held() && c.input_.size() >= held_bytes_max && !c.is_cut())
      ignore(co_await c.room_.wait());
    if (c.is_cut() || !c.make_room(to)) break;
    auto received = co_await c.socket().async_read_some(to);
    if (received.error()) break;
    c.input_.commit(received.value_);
    c.ready_.set();
  }
  c.has_ended_ = true;
  c.ready_.set();
}

bool memory_connection::make_room(mutable_buffer& to) noexcept {
  try {
    to = input_.prepare(receive_bytes);
    return true;
  } catch (...) {  // no memory for this client
    return false;
  }
}

task<> memory_connection::serve(std::shared_ptr<memory_connection> self) {
  memory_connection& c = *self;
  const any_io_executor here = co_await this_coro::executor;
  do {
    auto waited = co_await c.ready_.wait();
    if (waited.error()) break;
    while (c.execute_some()) co_await post(here);
    c.room_.set();
  } while (!c.is_over());
  if (!c.is_cut()) ignore(co_await c.queue_.async_drain());
  c.cut();
}

/// Returns whether nothing more will be executed.
bool memory_connection::is_over() const noexcept {
  return course() != memory_course::open || (has_ended_ && !hub_->is_paused());
}

/// Executes commands that have arrived, up to a turn of them. Returns whether there may be more.
bool memory_connection::execute_some() noexcept {
  bool has_more = true;
  try {
    hub_->read_clock();
    for (unsigned i = 0; i < commands_per_turn && has_more; ++i) {
      has_more = execute_next();
      if (out.size() > flush_bytes) hub_->deliver();
    }
    hub_->deliver();
  } catch (...) {  // no memory for this client
    cut();
  }
  return has_more && !is_cut();
}

/// Executes the next command. Returns whether it was there, and another one may follow.
bool memory_connection::execute_next() {
  if (is_waiting()) stopped_in_wait_ = true;
  if (course() != memory_course::open || is_held()) return false;
  const parsed_request found = parser_.parse(text_of(input_));
  if (found.event == request_event::command) hub_->engine().execute(*this, found.command);
  if (found.event == request_event::refused) {
    out.error("ERR " + std::string(parser_.error_text()));
    close();
    hub_->engine().outbox().note(*this);
  }
  BECK_ASSERT(found.consumed <= input_.size(), "more bytes were parsed than had arrived");
  input_.consume(found.consumed);
  return found.event == request_event::command;
}

void memory_connection::flush() noexcept {
  if (out.size() == 0 || is_cut()) return out.clear();
  bool cuts = false;
  const std::size_t bytes = hub_->allow(queued_, out.size(), cuts);
  BECK_ASSERT(bytes <= out.size(), "more bytes may be sent than there are");
  error_code ec;
  if (bytes != 0) ec = queue_.push(buffer(out.bytes().data(), bytes));
  queued_ += bytes;
  if (out.size() > flush_bytes) {
    out.release();
  } else {
    out.clear();
  }
  if (ec) return cut();  // it does not read, or has gone
  if (!cuts) return;
  close();
  ready_.set();
}

void memory_connection::cut() noexcept {
  if (is_cut()) return;
  end();
  hub_->remove(*this);
  socket().close();
  ready_.set();
  room_.set();
}

}  // namespace beck::redis::detail
