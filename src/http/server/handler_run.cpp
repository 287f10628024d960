// SPDX-License-Identifier: BSL-1.0
// Chooses, calls and awaits the handler of a request, and completes its response.
#include "http/server/handler_run.hpp"

#include <stdexcept>
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
  x.handler.knows_end = x.handler.is_stopped = false;
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
  bool is_kept =
      has_observer() || connection_.active().request.head.framing() != body_framing::none;
  if (is_kept) connection_.requests().copy_head();
  request q = connection_.active().make_request();
  response r = connection_.active().make_response();
  std::exception_ptr thrown;
  try {
    chosen.table->plain(chosen.handler, q, r);
  } catch (...) {
    thrown = std::current_exception();
  }
  if (!is_kept && !connection_.active().hooks.empty()) {  // they get the request later
    connection_.requests().copy_head();
    is_kept = true;
  }
  if (!is_kept) log_failure(thrown);  // while the text of the head exists
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
  if (!is_watching_ && !connection_.is_tunnel()) {
    try {
      watch_client();
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
  if (operations_ != 0) connection_.lose();
  connection_.responses().cancel_waits();
  end_client_wait(error::operation_aborted);
  connection_.evict_hook.unlink();
}

/// Returns whether an exception, or a missing response, does not count as a failure of the handler:
/// the client has left, or the server has stopped the handler.
bool handler_run::is_excused() const noexcept {
  return connection_.requests().has_ended() || state().knows_end || state().is_stopped ||
         (connection_.is_lost() && client_left_);
}

/// Answers for a handler that has ended without a response. `why`: the text of the answer if the
/// handler is not excused.
void handler_run::answer_instead(std::string_view why) {
  response_side& responses = connection_.responses();
  if (connection_.requests().has_ended())
    return responses.answer(status::bad_request, "the body of the request was cut short\n");
  if (state().is_stopped)
    return responses.answer(status::service_unavailable, "the server is being stopped\n");
  if (state().knows_end) return connection_.lose();
  connection_.server_worker().counters().failed.add();
  responses.answer(status::internal_server_error, why);
}

/// Returns whether a handler that has ended has set a head for its response, but not sent it.
bool handler_run::ends_without_head() const noexcept {
  const connection_exchange& x = connection_.active();
  return !connection_.is_lost() && !connection_.is_tunnel() && !x.response.has_begun() &&
         x.response.touched && x.request.body_refusal == refusal::none;
}

refusal handler_run::end(std::exception_ptr& thrown) {
  connection_exchange& x = connection_.active();
  worker_counters& counters = connection_.server_worker().counters();
  if (x.request.text != nullptr) log_failure(thrown);
  end_operations();
  connection_.responses().output().hold_back();
  if (thrown == nullptr && ends_without_head()) {
    thrown = connection_.responses().try_hooks();
    if (thrown != nullptr) log_failure(thrown);
  }
  const bool threw = thrown != nullptr;
  const bool has_failed = threw && !is_excused();
  counters.exchanges.add();
  if (connection_.is_lost() || connection_.is_tunnel()) {
    if (has_failed) counters.failed.add();
    if (x.response.has_begun() && x.response.stage != response_stage::ended)
      connection_.responses().note_cut();
  } else if (!x.response.has_begun() && x.request.body_refusal != refusal::none) {
    return x.request.body_refusal;
  } else if (!x.response.has_begun() && (threw || !x.response.touched)) {
    if (!threw && !is_excused() && has_observer()) thrown = no_response();
    answer_instead(threw ? "the handler failed\n" : "the handler did not respond\n");
  } else if (threw) {
    if (has_failed) counters.failed.add();
    connection_.responses().note_cut();
    connection_.serve_no_more();
  } else {
    connection_.responses().finish();
  }
  if (has_observer()) report(x.handler.refused, thrown);
  return refusal::none;
}

}  // namespace beck::http::detail
