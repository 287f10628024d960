// SPDX-License-Identifier: BSL-1.0
// The course of a connection: wait, parse, call the handler (connection_handler.cpp), again; then
// an end that loses no reply. What ends it early (the clock, a reset, the server) is here, too.
#include "http/connection.hpp"

#include <coroutine>
#include <cstring>
#include <source_location>
#include <utility>

#include <beck/coro/within.hpp>

#include "http/worker.hpp"

namespace beck::http::detail {
void input::consume(std::size_t bytes) noexcept {
  if (lease_.empty()) {
    own_.consume(bytes);
    return;
  }
  at_ += bytes;
  if (at_ == lease_.size()) lease_.reset();
}

void input::append(std::string_view text) {
  const mutable_buffer room = own_.prepare(text.size() + request_parser::padding);
  if (!text.empty()) std::memcpy(room.data(), text.data(), text.size());
  own_.commit(text.size());
}

void input::add(buffer_lease&& received) {
  if (empty()) {
    lease_ = std::move(received);
    at_ = 0;
    return;
  }
  keep();
  append({received.data(), received.size()});
}

void input::keep() {
  if (lease_.empty()) return;
  append({lease_.data() + at_, lease_.size() - at_});
  lease_.reset();
}

/// Awaits the task of a handler below a scope of its own, which a lost connection stops.
class connection::handler_call {
 public:
  handler_call(connection& of, task<>&& work) noexcept
      : connection_(&of), work_(static_cast<task<>&&>(work)) {}
  handler_call(handler_call&& inert) noexcept
      : connection_(inert.connection_), work_(static_cast<task<>&&>(inert.work_)) {}

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> course,
                     std::source_location at = std::source_location::current()) {
    scope_.emplace(beck::detail::scope_of(course, at));
    connection_->handler_scope_ = &*scope_;
    if (!beck::detail::suspend_inside(work_, course, *scope_)) return false;
    connection_->handler_suspended();
    return true;
  }
  /// Returns the exception that the handler threw.
  std::exception_ptr await_resume() noexcept {
    connection_->handler_scope_ = nullptr;
    scope_.reset();
    try {
      work_.await_resume();
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

 private:
  connection* connection_;
  beck::detail::deferred_init<beck::detail::inner_scope> scope_;
  task<> work_;
};

connection::connection(std::shared_ptr<worker> of)
    : worker_(std::move(of)), plain_(worker_->executor()), receiving_(*this), replies_(*this) {}

connection::~connection() { worker_->uncount(*this); }  // one that was never begun

const any_io_executor& connection::executor() const noexcept { return worker_->executor(); }
phase_clock& connection::clock() const noexcept { return worker_->clock(); }
date_line& connection::date() const noexcept { return worker_->date(); }

task<> connection::serve(std::shared_ptr<connection> self, stream_layer* layer) {
  connection& c = *self;
  reply_output& output = c.replies_.output();
  bool alive = true;
  if (layer != nullptr) alive = co_await c.make_layer(*layer);
  if (alive) output.start(*c.stream_);
  while (alive) {
    parse_status head = c.parse_head();
    while (head == parse_status::more) {
      if (!output.empty()) output.flush_now();
      if (!output.empty()) alive = co_await output.flush();
      alive = alive && c.begin_waiting();
      if (!alive) break;
      auto received = co_await c.stream_->receive();
      alive = c.end_waiting(std::move(received));
      if (!alive) break;
      head = c.parse_head();
    }
    if (!alive) break;
    if (head == parse_status::refused) {
      c.refuse(c.active_->parser.reason());
      break;
    }
    const route_choice chosen = c.begin_exchange();
    if (c.active_->body_refusal != refusal::none) {
      c.refuse(c.active_->body_refusal);
      break;
    }
    std::exception_ptr thrown;
    if (chosen.table->plain != nullptr) {
      thrown = c.call_plain(chosen);
    } else if (chosen.table->callback != nullptr) {
      thrown = c.call_callback(chosen);
      if (c.active_->is_taken()) {
        beck::ignore(co_await c.active_->exchange_gone.wait());
        if (c.active_->is_taken()) c.lose();  // the object outlives this: cut(), or the context
      }
    } else {
      c.copy_head();
      request q(c.active_->head, c);
      response r(c.replies_);
      thrown = co_await handler_call(c, c.call_coroutine(chosen, q, r));
    }
    c.end_exchange(std::move(thrown));
    if (c.may_go_on() && !c.body_is_whole()) {
      alive = co_await c.drop_body();
    }
    if (!c.may_go_on()) break;
    c.active_->drop_text();
    c.active_->parser.reset();
    if (!output.has_room()) alive = co_await output.flush();
  }
  if (c.is_tunnel_) co_return;
  if (c.late_ == refusal::head_late && !c.lost_) c.refuse(refusal::head_late);
  co_await c.close_gently();
}

void connection::ended() noexcept {
  course_ended_ = true;
  if (is_tunnel_ && !lost_) return active_.reset();  // its tunnel goes on
  lose();
  stream_->socket().close();  // also if it was lost before an exception
  worker_->clock().enter(receiving_, phase::none);
  worker_->remove(*this);
}

void connection::abandon() noexcept {
  replies_.drop_waits();
  if (active_ == nullptr) return;
  const client_wait::handler gone = std::move(active_->client_gone);
  active_->waits_for_end = false;
}

/// Parses the head of the next request as far as it has arrived.
parse_status connection::parse_head() {
  if (input_.empty()) return parse_status::more;
  if (active_ == nullptr) active_ = std::make_unique<exchange_state>(worker_->bounds());
  const parse_status status = active_->parser.parse_padded(input_.view(), active_->head);
  if (status == parse_status::more) {
    if (receiving_.in != phase::head) worker_->clock().enter(receiving_, phase::head);
  } else {
    worker_->clock().enter(receiving_, phase::none);
  }
  return status;
}

/// Prepares a wait for input: it holds no lent buffer, and nothing at all between two requests.
/// Returns false if the connection has ended, or the time of the head.
bool connection::begin_waiting() {
  if (lost_ || late_ != refusal::none) return false;
  if (input_.empty()) {
    active_.reset();
    input_.release();
    worker_->clock().enter(receiving_, idle_phase());
  } else {
    input_.keep();
  }
  return true;
}

/// Takes what was received. Returns false if the connection ends here.
bool connection::end_waiting(io_result<buffer_lease>&& received) {
  if (received.error()) {
    if (receiving_.in != phase::none) worker_->clock().enter(receiving_, phase::none);
    peer_ended_ = received.error() == error::eof;
    if (!peer_ended_ && late_ == refusal::none) lose();
    return false;
  }
  input_.add(std::move(received).value());
  return late_ == refusal::none && !lost_;  // both may change while the result is queued
}

/// Returns the phase of a connection that begins to wait for a request.
phase connection::idle_phase() const noexcept {
  if (worker_->is_draining()) return phase::draining;
  return evict_hook.is_linked() ? phase::fresh : phase::kept;
}

bool connection::may_go_on() const noexcept { return !lost_ && !ending_; }

/// Sends the rest, then closes so that the peer can read all of it: a close with input that was not
/// read would reset the connection.
task<> connection::close_gently() {
  reply_output& output = replies_.output();
  output.flush_last();
  const bool sent = co_await output.flush();
  // A close would reset the connection, and drop what was held back.
  const bool may_reset = !(peer_ended_ && input_.empty());
  if (sent && !lost_ && (may_reset || !stream_->is_plain())) co_await finish_stream();
  if (sent && !lost_ && may_reset) {
    const bool more_may_come = !peer_ended_ && !nothing_follows_;
    input_.release();
    std::size_t left = worker_->bounds().linger_bytes();
    worker_->clock().enter(receiving_, phase::linger);
    while (more_may_come && left != 0) {
      auto received = co_await stream_->receive();
      if (received.error()) break;
      const std::size_t bytes = std::move(received).value().size();
      left = left > bytes ? left - bytes : 0;
    }
  }
  worker_->clock().enter(receiving_, phase::none);
  close();
}

void connection::close() noexcept {
  stream_->close();
  lose();
}

/// Says the end of what is sent. A layer may have taken bytes that the peer has not: they have the
/// time of a reply.
task<> connection::finish_stream() {
  replies_.output().begin_watch();
  bool again = true;
  while (again && !lost_) {
    auto ended = co_await stream_->finish();
    again = ended.error() == error::timeout;
  }
  replies_.output().end_watch();
}

void connection::on_due(timed_entry& entry, phase was) {
  if (replies_.output().is_timed_by(entry)) return replies_.output().check_progress();
  error_code closed;  // the coroutine sees that
  switch (was) {
    case phase::head:
      late_ = refusal::head_late;
      stream_->socket().cancel(closed);
      break;
    case phase::body:
      count_wait();
      if (active_->body_refusal != refusal::none) {
        stream_->socket().cancel(closed);
      } else {
        worker_->clock().enter(receiving_, phase::body);
      }
      break;
    case phase::handshake:
      handshake_late_ = true;
      lose();
      break;
    case phase::kept:
      if (worker_->bounds().idle() > phase_clock::kept_max) {
        worker_->clock().enter(receiving_, phase::idle);
        worker_->note_evictable();
        break;
      }
      [[fallthrough]];
    case phase::fresh:
    case phase::idle:
    case phase::draining:
    case phase::linger:
      close();
      break;
    case phase::none:
    case phase::reply:
      break;
  }
}

void connection::drain() {
  const phase in = receiving_.in;
  if (in == phase::fresh || in == phase::kept || in == phase::idle)
    worker_->clock().enter(receiving_, phase::draining);
  stop_waiting();
}

void connection::lose() noexcept {
  if (lost_) return;
  lost_ = true;
  stream_->socket().close();
  end_client_wait(error_code());  // first: a stop would cancel the wait
  if (handler_scope_ != nullptr) handler_scope_->stop();
  replies_.output().stop();
  replies_.wake();
  if (active_ != nullptr && active_->is_taken()) worker_->note_left(*this);
  if (is_tunnel_ && course_ended_) worker_->remove(*this);
}

void connection::cut() noexcept {
  lose();
  if (active_ != nullptr && active_->is_taken()) active_->exchange_gone.set();
}

}  // namespace beck::http::detail
