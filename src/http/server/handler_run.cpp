// SPDX-License-Identifier: BSL-1.0
// Chooses, calls and awaits the handler of a request, and completes its response.
#include "http/server/handler_run.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <beck/base/assert.hpp>

#include "http/server/connection.hpp"
#include "http/server/worker.hpp"

namespace beck::http::detail {
namespace {

/// Returns the exception for a handler without a response, or std::bad_alloc if memory is lacking.
std::exception_ptr no_response() noexcept {
  try {
    throw std::logic_error(no_response_text);
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

route_choice handler_run::choose() {
  connection_exchange& x = connection_.active();
  connection_.evict_hook.unlink();
  connection_.requests().begin();
  x.response.clear();
  x.handler.knows_end = x.handler.is_stopped = x.handler.is_late = false;
  x.handler.refused = refusal::none;
  x.handler.route.clear();
  x.handler.layers.clear();
  const server_state& server = connection_.server_worker().server();
  route_choice chosen{&server.table(), server.handler(), 0};
  if (chosen.table->choose != nullptr) {
    request q = x.make_request();
    chosen = chosen.table->choose(chosen.handler, q);
    BECK_ASSERT(chosen.table->choose == nullptr, "a router chose a router");
  }
  x.handler.waits_for_events = chosen.waits_for_events;
  x.handler.timeout = chosen.handler_timeout;
  x.handler.route.note_answer(chosen.is_answer);
  // The time of the loop does not advance while a handler computes.
  if (has_observer()) x.handler.began = steady_now().nanoseconds();
  connection_.requests().bound_body(chosen.body_bytes);
  connection_.responses().output().hold_back();
  if (x.request.body_refusal == refusal::none) return chosen;
  x.handler.route.note_answer(true);
  chosen.table = &body_too_long;
  return chosen;
}

std::exception_ptr handler_run::call_plain(const route_choice& chosen) {
  // The record needs the head; a handler may begin to read a body, which has to begin the input.
  connection_exchange& x = connection_.active();
  const bool is_kept = has_observer() || x.request.head.framing() != body_framing::none;
  if (is_kept) connection_.requests().copy_head();
  request q = x.make_request();
  response r = x.make_response();
  std::exception_ptr thrown;
  try {
    chosen.table->plain(chosen.handler, q, r);
  } catch (...) {
    thrown = std::current_exception();
  }
  const bool is_needed =
      thrown != nullptr || x.response.is_silent() || !x.hooks.empty();  // in end()
  if (!is_kept && is_needed) connection_.requests().copy_head();
  connection_.requests().drop_head();
  return thrown;
}

std::exception_ptr handler_run::call(const route_choice& chosen, request& q, response& r,
                                     pending& left) {
  exchange_state& x = connection_.active();
  try {
    if (!x.handler.layers.empty()) {
      left = x.handler.layers.start(chosen, q, r);
    } else if (chosen.table->callback != nullptr) {
      x.give(chosen.handler, chosen.table->callback);
    } else {
      left = chosen.table->call(chosen.handler, q, r);
    }
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

void handler_run::limit_time(duration after) {
  handler_state& handler = state();
  if (after == duration()) return;
  const time_point due = time_point(duration(loop_time())) + after;
  if (handler.due <= due) return;
  handler.time_limit = after;
  handler.due = due;
  handler.timer.emplace(connection_.executor(), due);
  handler.timer->async_wait([this, due, keep = connection_.shared_from_this()](error_code ec) {
    if (!ec) on_late(due);
  });
}

/// Called when the time `due` has come; it may be that of an earlier wait.
void handler_run::on_late(time_point due) noexcept {
  if (!connection_.is_active() || state().due != due) return;
  state().is_late = connection_.stop_late_handler();
}

void handler_run::return_exchange() noexcept {
  BECK_ASSERT(state().is_taken(), "an exchange object is returned twice");
  const std::shared_ptr<void> self = std::move(state().taken_by);
  state().exchange_gone.set();
}

void handler_run::drop_operation() noexcept {
  BECK_ASSERT(operations_ != 0, "an operation of a handler ends twice");
  --operations_;
}

void handler_run::suspend() noexcept {
  connection_.responses().output().release();
  connection_.responses().output().flush_now();
  if (!connection_.is_tunnel()) {
    try {
      if (!is_watching_) watch_client();
      limit_time(state().timeout);
    } catch (...) {  // no memory: the handler is suspended, so its frame must not be destroyed now
      connection_.lose();
    }
  }
  if (client_left_) note_left();
  if (connection_.server_worker().is_draining()) stop_waiting();
}

/// Ends the operations that use the exchange, before the exchange ends: a write would go into the
/// next response, and a read would take the next request.
void handler_run::end_operations() noexcept {
  state().timer.reset();
  state().due = time_point::max();
  if (operations_ != 0) connection_.lose();
  connection_.responses().cancel_waits();
  end_client_wait(error::operation_aborted);
  connection_.evict_hook.unlink();
}

/// Returns whether an exception, or a missing response, does not count as a failure of the handler:
/// the client has left, or the server has stopped the handler.
bool handler_run::is_excused() const noexcept {
  return connection_.requests().has_ended() || state().knows_end || state().is_stopped ||
         state().is_late || (connection_.is_lost() && client_left_);
}

/// Answers for a handler that has ended without a response. `text`: that of the answer if the
/// handler has failed.
void handler_run::answer_instead(const std::exception_ptr& thrown, std::string_view text) {
  page_cause cause = cause_of(thrown);
  if (as_failure(thrown) == nullptr) {
    cause.text = text;
    if (connection_.requests().has_ended()) {
      cause.status = status::bad_request;
      cause.text = "the body of the request was cut short";
    } else if (state().is_stopped) {
      cause.status = status::service_unavailable;
      cause.text = "the server is being stopped";
    } else if (state().is_late) {
      count_late();
      const std::string reason = connection_.text_of_refusal(refusal::handler_late);
      return connection_.responses().answer(
          {status_of(refusal::handler_late), reason, refusal::handler_late, thrown});
    } else if (state().knows_end) {
      return connection_.lose();
    } else {
      connection_.server_worker().counters().failed.add();
    }
  }
  connection_.responses().answer(cause);
}

/// Returns whether a handler that has ended has set a head for its response, but not sent it.
bool handler_run::ends_without_head() const noexcept {
  const connection_exchange& x = connection_.active();
  return !connection_.is_lost() && !connection_.is_tunnel() && !x.response.has_begun() &&
         x.response.touched && !x.handler.is_late && x.request.body_refusal == refusal::none;
}

/// Returns whether the time of a handler was over before its response, which was begun, was whole.
bool handler_run::is_unfinished() const noexcept {
  const response_state& response = connection_.active().response;
  return state().is_late && response.stage != response_stage::ended &&
         !(response.has_length() && response.sent == response.length);
}

void handler_run::count_late() {
  state().refused = refusal::handler_late;
  constexpr auto index = static_cast<std::size_t>(refusal::handler_late);
  connection_.server_worker().counters().refused[index].add();
}

refusal handler_run::end(std::exception_ptr& thrown) {
  connection_exchange& x = connection_.active();
  worker_counters& counters = connection_.server_worker().counters();
  log_failure(thrown);
  end_operations();
  connection_.responses().output().hold_back();
  if (thrown == nullptr && ends_without_head()) {
    thrown = connection_.responses().try_hooks();
    if (thrown != nullptr) log_failure(thrown);
  }
  const bool threw = thrown != nullptr;
  const bool has_gone = connection_.is_lost() || connection_.is_tunnel();
  counters.exchanges.add();
  if (x.handler.is_taken()) connection_.serve_no_more();  // its object goes on without it
  if (threw && !is_excused() && (has_gone || x.response.has_begun())) {
    counters.failed.add();
    x.show_late(thrown);
  }
  if (has_gone) {
    if (x.response.has_begun() && x.response.stage != response_stage::ended)
      connection_.responses().note_cut();
  } else if (!x.response.has_begun() && x.request.body_refusal != refusal::none) {
    return x.request.body_refusal;
  } else if (!x.response.has_begun() && (threw || !x.response.touched || x.handler.is_late)) {
    if (!threw && !is_excused()) thrown = no_response();
    answer_instead(thrown, threw ? "the handler failed" : no_response_text);
  } else if (threw || is_unfinished()) {
    if (x.handler.is_late) count_late();
    connection_.responses().note_cut();
    connection_.serve_no_more();
  } else {
    connection_.responses().finish();
  }
  if (has_observer()) report(x.handler.refused, thrown);
  return refusal::none;
}

}  // namespace beck::http::detail
