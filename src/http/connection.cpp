// SPDX-License-Identifier: BSL-1.0
// The course of a connection: wait, parse, call the handler, complete its reply, again; then an end
// that loses no reply. What ends it early (the clock, a reset, the server) is here, too.
#include "http/connection.hpp"

#include <cstring>
#include <exception>
#include <utility>

#include <beck/coro/within.hpp>

#include "http/worker.hpp"

namespace beck::http::detail {
namespace {

constexpr std::size_t outbox_max = 65'536;  // above it the replies of a pipeline are sent

task<> throwing(std::exception_ptr what) {
  std::rethrow_exception(std::move(what));
  co_return;
}

}  // namespace

using beck::detail::allocate_block;

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

connection::connection(std::shared_ptr<worker> of)
    : worker_(std::move(of)), stream_(worker_->executor()), receiving_(*this), sending_(*this) {
  flush_request_.run = &flush_entry;
}

const any_io_executor& connection::executor() const noexcept { return worker_->executor(); }

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
  /// Returns whether the handler threw an exception.
  bool await_resume() noexcept {
    connection_->handler_scope_ = nullptr;
    scope_.reset();
    try {
      work_.await_resume();
      return false;
    } catch (...) {
      return true;
    }
  }

 private:
  connection* connection_;
  beck::detail::deferred_init<beck::detail::inner_scope> scope_;
  task<> work_;
};

task<> connection::serve(std::shared_ptr<connection> self) {
  connection& c = *self;
  worker& w = *c.worker_;
  const handler_table& handler = w.server().table();
  bool alive = true;
  while (alive) {
    parse_status head = c.parse_head();
    while (head == parse_status::more && alive) {
      alive = co_await c.receive_more();
      head = c.parse_head();
    }
    if (!alive) break;
    if (head == parse_status::refused) {
      c.refuse(c.active_->parser.reason());
      break;
    }
    c.begin_exchange();
    bool threw = false;
    if (c.active_->body_refusal != refusal::none) {
      c.refuse(c.active_->body_refusal);
      break;
    }
    if (handler.plain != nullptr) {
      threw = c.call_plain();
    } else {
      c.copy_head();
      request q(c.active_->head, c);
      response r(c);
      threw = co_await handler_call(c, c.call_coroutine(q, r));
    }
    c.end_exchange(threw);
    if (c.may_go_on() && !c.body_is_whole()) {
      alive = co_await c.drop_body();
    }
    if (!c.may_go_on()) break;
    c.active_->drop_text();
    c.active_->parser.reset();
    if (c.outbox_.size() >= outbox_max) alive = co_await c.flush();
  }
  if (c.late_ == refusal::head_late && !c.lost_) c.refuse(refusal::head_late);
  co_await c.close_gently();
}

void connection::ended() noexcept {
  lose();
  stream_.socket().close();  // also if it was lost before an exception
  worker_->clock().enter(receiving_, phase::none);
  worker_->remove(*this);
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

/// Sends what is waiting, then receives. Returns false if the connection ends here.
task<bool> connection::receive_more() {
  if (!outbox_.empty()) {
    const bool sent = co_await flush();
    if (!sent || late_ != refusal::none) co_return false;  // the head's time passed meanwhile
  }
  if (input_.empty()) {
    active_.reset();
    input_.release();
    worker_->clock().enter(receiving_, worker_->is_draining() ? phase::draining : phase::idle);
    worker_->note_idle();
  } else {
    input_.keep();
  }
  auto received = co_await stream_.receive();
  if (received.error()) {
    if (receiving_.in != phase::none) worker_->clock().enter(receiving_, phase::none);
    peer_ended_ = received.error() == error::eof;
    if (!peer_ended_ && late_ == refusal::none) lost_ = true;
    co_return false;
  }
  input_.add(std::move(received).value());
  co_return late_ == refusal::none && !lost_;  // both may change while the result is queued
}

void connection::begin_exchange() {
  exchange_state& x = *active_;
  x.reply.clear();
  x.data_end = x.data_bytes = 0;
  x.waited_ns = 0;
  x.body_refusal = refusal::none;
  x.peer_ended = false;
  x.decoder = body_decoder(x.head, worker_->bounds().bodies());
  x.continue_due = x.head.expects_continue() && x.head.framing() != body_framing::none;
  if (x.head.framing() == body_framing::length) {  // refused before the handler sees it
    static_cast<void>(x.decoder.decode({}));
    x.body_refusal = x.decoder.reason();
  }
  deferring_ = true;
}

/// Moves the text of the head to a block, so that the handler may wait while input arrives.
void connection::copy_head() {
  exchange_state& x = *active_;
  const std::size_t bytes = x.head.bytes();
  x.text = static_cast<char*>(allocate_block(bytes + request_parser::padding));
  std::memcpy(x.text, input_.view().data(), bytes);
  x.head.rebase(x.text);
  input_.consume(bytes);
  input_.keep();
}

/// Returns whether the handler threw an exception.
bool connection::call_plain() {
  exchange_state& x = *active_;
  request q(x.head, *this);
  response r(*this);
  bool threw = false;
  try {
    worker_->server().table().plain(worker_->server().handler(), q, r);
  } catch (...) {
    threw = true;
  }
  input_.consume(x.head.bytes());
  return threw;
}

/// Returns the task of the handler; one that throws, if the handler threw instead of returning.
task<> connection::call_coroutine(request& q, response& r) {
  try {
    return worker_->server().table().coroutine(worker_->server().handler(), q, r);
  } catch (...) {
    return throwing(std::current_exception());
  }
}

/// The handler has suspended: what earlier exchanges have queued goes out, and a reset is watched
/// for.
void connection::handler_suspended() noexcept {
  deferring_ = false;
  try {
    flush_now();
    if (!outbox_.empty()) start_writing();
    if (!watched_) watch_for_reset(shared_from_this());
  } catch (...) {  // no memory: the handler is suspended, so its frame must not go now
    lose();
  }
}

void connection::watch_for_reset(std::shared_ptr<connection> self) {
  connection& c = *self;
  c.watched_ = true;
  beck::detail::launch(beck::detail::void_operation(beck::detail::op_kind::wait_error,
                                                    c.stream_.socket().slot(), nullptr, 0),
                       [self = std::move(self)](const error_code& ec) {
                         if (!ec) self->lose();
                       });
}

/// Completes the reply of a handler that has ended.
void connection::end_exchange(bool threw) {
  deferring_ = true;
  exchange_state& x = *active_;
  worker_->counters().exchanges.add();
  if (lost_) {
    if (threw) worker_->counters().failed.add();
    if (x.reply.begun && !x.reply.ended) worker_->counters().cut.add();
    return;
  }
  if (x.body_refusal != refusal::none && !x.reply.begun) {
    refuse(x.body_refusal);
  } else if (threw && !x.reply.begun) {
    worker_->counters().failed.add();
    answer(status::internal_server_error, "the handler failed\n");
  } else if (threw) {
    worker_->counters().failed.add();
    worker_->counters().cut.add();
    ending_ = true;
  } else if (!x.reply.begun && !x.reply.touched) {
    worker_->counters().failed.add();
    answer(status::internal_server_error, "the handler did not reply\n");
  } else {
    finish_reply();
  }
  if (x.reply.close || !x.head.keeps_alive() || worker_->is_draining()) ending_ = true;
  nothing_follows_ = !x.head.keeps_alive() && body_is_whole() && input_.empty();
}

bool connection::may_go_on() const noexcept { return !lost_ && !ending_; }

/// Sends the rest, then closes so that the peer can read all of it: a close with input that was not
/// read would reset the connection.
task<> connection::close_gently() {
  const bool sent = co_await flush();
  if (sent && !lost_ && !nothing_follows_ && !(peer_ended_ && input_.empty())) {
    ignore(co_await stream_.finish());
    const bool more_may_come = !peer_ended_;
    input_.release();
    std::size_t left = worker_->bounds().linger_bytes();
    worker_->clock().enter(receiving_, phase::linger);
    while (more_may_come && left != 0) {
      auto received = co_await stream_.receive();
      if (received.error()) break;
      const std::size_t bytes = std::move(received).value().size();
      left = left > bytes ? left - bytes : 0;
    }
  }
  worker_->clock().enter(receiving_, phase::none);
  lost_ = true;
  stream_.socket().close();
}

void connection::on_due(timed_entry& entry, phase was) {
  if (&entry == &sending_) {
    if (bytes_taken_ == taken_at_check_) {
      lose();
    } else {
      taken_at_check_ = bytes_taken_;
      worker_->clock().enter(sending_, phase::reply);
    }
    return;
  }
  error_code closed;  // the coroutine sees that
  switch (was) {
    case phase::head:
      late_ = refusal::head_late;
      stream_.socket().cancel(closed);
      break;
    case phase::body:
      count_wait();
      if (active_->body_refusal != refusal::none) {
        stream_.socket().cancel(closed);
      } else {
        worker_->clock().enter(receiving_, phase::body);
      }
      break;
    case phase::idle:
    case phase::draining:
    case phase::linger:
      lost_ = true;
      stream_.socket().close();
      break;
    case phase::none:
    case phase::reply:
      break;
  }
}

void connection::drain() {
  if (receiving_.in == phase::idle) worker_->clock().enter(receiving_, phase::draining);
}

void connection::lose() noexcept {
  if (lost_) return;
  lost_ = true;
  stream_.socket().close();
  if (handler_scope_ != nullptr) handler_scope_->stop();
  if (!writing_) outbox_.clear();
  wake_writers();
}

}  // namespace beck::http::detail
