// SPDX-License-Identifier: BSL-1.0
// The main loop of a connection: wait, parse, call the handler, repeat; then an end that loses no
// response. Early ends (by the clock, a reset, the server) are here, too.
#include "http/server/connection.hpp"

#include <coroutine>
#include <source_location>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/coro/within.hpp>

#include "base/transitions.hpp"
#include "http/message/refusal_text.hpp"
#include "http/server/worker.hpp"

namespace beck::http::detail {
namespace {

/// In the order of connection_event.
constexpr beck::detail::transition_table<connection_state, 5> connection_transitions = [] {
  using beck::detail::any_but;
  using beck::detail::any_of;
  using enum connection_state;
  return beck::detail::transition_table<connection_state, 5>{{
      /* begin     */ {open, any_of({fresh})},
      /* end       */ {ending, any_of({open})},
      /* take_over */ {tunnel, any_of({ending})},
      /* leave     */ {tunnel_alone, any_of({tunnel})},
      /* lose      */ {lost, any_but({lost})},
  }};
}();

}  // namespace

/// Awaits the task of a handler below a scope of its own, which is stopped when the connection is
/// lost.
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
    BECK_ASSERT(connection_->scope_ == nullptr, "a connection runs two handlers");
    connection_->scope_ = &*scope_;
    if (!beck::detail::suspend_inside(work_, course, *scope_)) return false;
    connection_->handlers_.suspend();
    return true;
  }
  /// Returns the exception that the handler threw.
  std::exception_ptr await_resume() noexcept {
    connection_->scope_ = nullptr;
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
    : worker_(std::move(of)),
      plain_(worker_->executor()),
      requests_(*this),
      handlers_(*this),
      responses_(*this),
      port_(*this) {}

connection::~connection() { worker_->uncount(*this); }  // of a connection that was never begun

const any_io_executor& connection::executor() const noexcept { return worker_->executor(); }
const limits& connection::bounds() const noexcept { return worker_->bounds(); }

void connection::change(connection_event event) noexcept {
  advance(state_, event, connection_transitions);
}

connection_exchange& connection::make_active() {
  if (active_ == nullptr) active_ = std::make_unique<connection_exchange>(*this, port_, bounds());
  return *active_;
}

void connection::drop_active() noexcept {
  BECK_ASSERT(active_ == nullptr || !active_->handler.is_taken(),
              "an exchange is dropped that an object owns");
  active_.reset();
}

// --- the main loop -------------------------------------------------------------------------------

task<> connection::serve(std::shared_ptr<connection> self, stream_layer* layer) {
  connection& c = *self;
  request_side& requests = c.requests_;
  response_output& output = c.responses_.output();
  bool alive = true;
  if (layer != nullptr) alive = co_await c.make_layer(*layer);
  alive = alive && !c.is_lost();  // it may have been evicted before this has begun
  if (alive) c.change(connection_event::begin);
  if (alive) output.start(*c.stream_);
  while (alive) {
    parse_status head = requests.parse_head();
    while (head == parse_status::more) {
      if (!output.empty()) output.flush_now();
      if (!output.empty()) alive = co_await output.flush();
      alive = alive && requests.begin_waiting();
      if (!alive) break;
      auto received = co_await c.stream_->receive();
      alive = requests.end_waiting(std::move(received));
      if (!alive) break;
      head = requests.parse_head();
    }
    if (!alive) break;
    if (head == parse_status::refused) {
      c.refuse(c.active_->request.parser.reason());
      break;
    }
    const route_choice chosen = c.handlers_.choose();
    const bool is_layered = !c.active_->handler.layers.empty();
    if (!is_layered && c.active_->request.body_refusal != refusal::none) {
      c.refuse(c.active_->request.body_refusal);
      break;
    }
    std::exception_ptr thrown;
    if (!is_layered && chosen.table->plain != nullptr) {
      thrown = c.handlers_.call_plain(chosen);
    } else {
      requests.copy_head();
      request q = c.active_->make_request();
      response r = c.active_->make_response();
      pending left;
      thrown = c.handlers_.call(chosen, q, r, left);
      if (!left.is_finished()) thrown = co_await handler_call(c, std::move(left).into_task());
      handler_state& handler = c.active_->handler;
      if (handler.is_taken()) {
        c.handlers_.suspend();
        beck::ignore(co_await handler.exchange_gone.wait());
        // The object outlives this: cut() has ended it, or its time is over.
        if (handler.is_taken() && !handler.is_late) c.lose();
      }
    }
    c.end_exchange(thrown);
    if (c.may_go_on() && !requests.body_is_whole()) alive = co_await requests.drop_body();
    if (!c.may_go_on()) break;
    c.active_->request.drop_text();
    c.active_->request.parser.reset();
    if (!output.has_room()) alive = co_await output.flush();
  }
  if (c.is_tunnel()) co_return;
  if (requests.state() == input_state::late && !c.is_lost()) c.refuse(refusal::head_late);
  co_await c.close_gently();
}

/// Completes the exchange whose handler has ended.
void connection::end_exchange(std::exception_ptr& thrown) {
  const refusal why = handlers_.end(thrown);
  if (why != refusal::none) refuse(why);
  if (active_->handler.is_taken()) {
    active_->leave();
  } else {
    active_->forget();
  }
  requests_.note_last();
}

/// Answers a message that is refused. No byte after it is interpreted.
void connection::refuse(refusal why) {
  BECK_ASSERT(why != refusal::none, "a message is refused without a reason");
  incoming_request& x = make_active().request;
  worker_->counters().refused[static_cast<std::size_t>(why)].add();
  serve_no_more();
  if (x.body_refusal == refusal::none) {  // of the head only the reason is known
    x.drop_text();
    x.head.clear();
  }
  const std::string text = text_of_refusal(why);
  responses_.answer({status_of(why), text, why});
  if (handlers_.has_observer()) handlers_.report(why);
}

std::string connection::text_of_refusal(refusal why) const {
  const incoming_request& x = active_->request;
  return refusal_text(why, bounds(), x.body_bytes_max, x.bound_by_route,
                      active_->handler.time_limit);
}

void connection::refuse_body() {
  const refusal why = active_->request.body_refusal;
  BECK_ASSERT(why != refusal::none, "a body is refused without a reason");
  active_->handler.refused = why;
  worker_->counters().refused[static_cast<std::size_t>(why)].add();
  const std::string text = text_of_refusal(why);
  active_->fail({status_of(why), text, why});
}

void connection::serve_no_more() noexcept {
  if (may_go_on()) change(connection_event::end);
}

void connection::on_due(timed_entry& entry, phase was) {
  if (responses_.output().is_timed_by(entry)) return responses_.output().check_progress();
  BECK_ASSERT(&entry == &requests_.timed() && was != phase::response,
              "a limit has passed that its connection does not have");
  error_code closed;  // the coroutine notices the close
  switch (was) {
    case phase::head:
      requests_.be_late();
      stream_->socket().cancel(closed);
      break;
    case phase::body:
      requests_.check_body_wait();
      break;
    case phase::handshake:
      requests_.be_late();
      lose();
      break;
    case phase::kept:
      if (bounds().idle_timeout > phase_clock::kept_max) {
        requests_.enter(phase::idle);
        worker_->room().note_evictable();
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
    case phase::response:
      break;
  }
}

void connection::drain() {
  const phase in = requests_.timed().in;
  if (in == phase::fresh || in == phase::kept || in == phase::idle)
    requests_.enter(phase::draining);
  handlers_.stop_waiting();
}

// --- ends ----------------------------------------------------------------------------------------

/// Sends the rest, then closes so that the peer can read all of it: a close with unread input would
/// reset the connection.
task<> connection::close_gently() {
  response_output& output = responses_.output();
  output.flush_last();
  const bool sent = co_await output.flush();
  // A close would reset the connection, and drop bytes that were held back.
  const bool may_reset = requests_.has_unread();
  if (sent && !is_lost() && (may_reset || !stream_->is_plain())) co_await finish_stream();
  if (sent && !is_lost() && may_reset) co_await requests_.linger();
  requests_.enter(phase::none);
  close();
}

/// Sends the end of the stream. A layer may hold bytes that the peer has not taken: they have the
/// time limit of a response.
task<> connection::finish_stream() {
  responses_.output().begin_watch();
  bool again = true;
  while (again && !is_lost()) {
    auto ended = co_await stream_->finish();
    again = ended.error() == error::timeout;
  }
  responses_.output().end_watch();
}

void connection::ended() noexcept {
  if (state_ == connection_state::tunnel) {
    change(connection_event::leave);
    return drop_active();
  }
  lose();
  stream_->socket().close();  // also after an exception that followed a loss
  requests_.enter(phase::none);
  worker_->remove(*this);
}

void connection::abandon() noexcept {
  responses_.drop_waits();
  if (active_ == nullptr) return;
  const client_wait::handler gone = std::move(active_->handler.client_gone);
}

void connection::lose() noexcept {
  if (is_lost()) return;
  const bool was_alone = state_ == connection_state::tunnel_alone;
  change(connection_event::lose);
  stream_->socket().close();
  handlers_.end_client_wait(error_code());  // first: a stop would cancel the wait
  if (scope_ != nullptr) scope_->stop();
  responses_.output().stop();
  responses_.wake();
  if (active_ != nullptr && active_->handler.is_taken()) worker_->room().note_left(*this);
  if (was_alone) worker_->remove(*this);
  if (owner_of_tunnel != nullptr) owner_of_tunnel->take_cut();
}

void connection::close() noexcept {
  stream_->close();
  lose();
}

void connection::cut() noexcept {
  lose();
  if (active_ != nullptr && active_->handler.is_taken()) active_->handler.exchange_gone.set();
}

bool connection::is_handled() const noexcept {
  return active_ != nullptr && (scope_ != nullptr || active_->handler.is_taken());
}

bool connection::stop_handler() noexcept {
  if (scope_ == nullptr || is_tunnel() || is_lost()) return false;
  scope_->stop();
  return true;
}

bool connection::stop_late_handler() noexcept {
  if (active_->response.stage == response_stage::ended) return false;
  if (scope_ != nullptr) scope_->stop(beck::detail::stop_reason::deadline);
  if (active_->handler.is_taken()) active_->handler.exchange_gone.set();
  return true;
}

}  // namespace beck::http::detail
