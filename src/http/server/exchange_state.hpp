// SPDX-License-Identifier: BSL-1.0
// The state of an exchange that is the same for all versions of HTTP: what a router has found, what
// the handler has set, and what it waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/base/duration.hpp>
#include <beck/coro/event.hpp>
#include <beck/http/body_decoder.hpp>
#include <beck/http/exchange.hpp>
#include <beck/http/head.hpp>
#include <beck/http/refusal.hpp>
#include <beck/http/status.hpp>
#include <beck/io/steady_timer.hpp>

#include "http/message/field_lines.hpp"
#include "http/server/exchange_port.hpp"
#include "http/server/head_hooks.hpp"
#include "http/server/kept_values.hpp"
#include "http/server/layer_run.hpp"
#include "http/server/page_draft.hpp"
#include "http/server/route_match.hpp"

namespace beck::http::detail {

/// The state of the handler of the present request.
struct handler_state {
  route_match route;
  layer_run layers;                ///< around the handler
  layer_run* collects = &layers;   ///< takes the layers of routers that choose
  std::int64_t began = 0;          ///< the time when the head was whole; only with an observer
  std::shared_ptr<void> taken_by;  ///< the connection, while an exchange object owns the request
  manual_reset_event exchange_gone;
  client_wait::handler client_gone;  ///< empty: the handler does not wait for the end of its client
  bool waits_for_events = false;     ///< a setting of the route
  bool knows_end = false;            ///< the handler was told that the client has left
  refusal refused = refusal::none;   ///< the request was refused inside the layers
  bool is_stopped = false;           ///< its scope was stopped, as the server is being stopped
  bool is_late = false;              ///< its time is over
  duration timeout;                  ///< of its route, which begins when it first waits; 0: none
  duration time_limit;               ///< the one that `timer` waits for
  time_point due = time_point::max();  ///< the end of that
  std::optional<steady_timer> timer;

  /// Returns whether an exchange object owns the request.
  bool is_taken() const noexcept { return taken_by != nullptr; }
  /// Calls `done` when the client has left.
  void wait_for_end(client_wait::handler done) noexcept {
    BECK_ASSERT(!client_gone, "a wait for the end of a client is replaced by another one");
    client_gone = std::move(done);
  }
  /// Ends the wait of wait_for_end(), if there is one.
  void end_client_wait(error_code ec) noexcept {
    if (!client_gone) return;
    knows_end = knows_end || !ec;
    client_wait::handler done = std::move(client_gone);
    done(ec);
  }
};

/// How much of a response is in the output.
enum class response_stage : std::uint8_t {
  unsent,  ///< nothing
  head,    ///< the head, or a whole response, is being written: an exception leaves a part
  body,    ///< the head; parts of the body follow
  ended,   ///< all of it
};

/// The state of a response. A plain record: the port keeps its rules. Its bools are independent of
/// each other, and of the stage.
struct response_state {
  field_lines fields;
  std::uint64_t length = 0;  ///< promised, if has_length()
  std::uint64_t sent = 0;    ///< bytes of the body so far
  std::int64_t began = 0;    ///< the time when the head was written; only with an observer
  http::status status = http::status::ok;
  response_stage stage = response_stage::unsent;
  body_framing framing = body_framing::until_close;  ///< of a body in parts
  bool touched = false;                              ///< the handler has set the status or a field
  bool cut = false;     ///< the connection ends before the response does
  bool broken = false;  ///< a part of the body is missing
  bool close = false;   ///< the connection ends after this response

  bool has_begun() const noexcept { return stage != response_stage::unsent; }
  /// Returns whether the handler has not responded in any way.
  bool is_silent() const noexcept { return !has_begun() && !touched; }
  /// Throws std::logic_error if the head was sent.
  void require_no_head() const;
  /// Returns whether content_length() was called, or the body is a file.
  bool has_length() const noexcept { return framing == body_framing::length; }
  void promise(std::uint64_t bytes) noexcept {
    framing = body_framing::length;
    length = bytes;
  }
  void clear() noexcept {
    fields.clear();
    length = sent = 0;
    began = 0;
    status = http::status::ok;
    stage = response_stage::unsent;
    framing = body_framing::until_close;
    touched = cut = broken = close = false;
  }
};

/// The state of an exchange. Thread: that of the connection.
struct exchange_state {
  exchange_state(exchange_port& by, const request_head& of) noexcept : port(&by), head(of) {}
  exchange_state(const exchange_state&) = delete;
  exchange_state& operator=(const exchange_state&) = delete;

  // The objects that handlers get.
  http::request make_request() noexcept { return {head, *this}; }
  http::response make_response() noexcept { return http::response(*this); }
  http::exchange make_exchange() noexcept { return {*this, make_request(), make_response()}; }
  /// Calls a handler with an exchange object, which it may keep. Throws what it throws, and
  /// std::logic_error if there is such an object already.
  void give(void* to, void (*call)(void* handler, http::exchange&& x));
  // --- error pages (error_page.cpp)
  /// Puts an error page in place of the status of the response, its type and its body, which is
  /// returned. Keeps its other fields. Throws std::length_error if the fields leave no room for the
  /// type; std::bad_alloc.
  std::string put_page(const page_cause& cause);
  /// See response::fail().
  void fail(const page_cause& cause);
  /// Passes an exception that comes too late for a response to the program's function.
  void show_late(const std::exception_ptr& thrown) noexcept;
  /// Writes a line to the log of the context: the request, and an exception, or that there was no
  /// response if it is nullptr.
  void log(const std::exception_ptr& thrown) const noexcept;

  /// Drops what middlewares and handlers have left in an exchange that has ended.
  void forget() noexcept {
    hooks.clear();
    values.clear();
  }

  exchange_port* port;
  const request_head& head;
  handler_state handler;
  response_state response;
  head_hooks hooks;
  kept_values values;
};

/// Returns the id of a request; an empty text if it has none (request_id.cpp).
std::string_view id_of(const exchange_state& of) noexcept;

}  // namespace beck::http::detail
