// SPDX-License-Identifier: BSL-1.0
//
// Server-sent events: a response that stays open and carries events, for a browser's EventSource
// or any other client.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/base/io_result.hpp>
#include <beck/coro/task.hpp>
#include <beck/http/request.hpp>
#include <beck/http/response.hpp>
#include <string_view>
#include <type_traits>

namespace beck::http {

namespace detail {
class event_sender;
}

/// The options of an event_stream.
struct event_options {
  /// How long the stream may be silent: then a comment is sent, so that proxies keep the connection
  /// and a client that is gone is noticed. 0: never.
  duration keep_alive = duration::seconds(15);
  /// How long a browser waits before it connects again after the end of the stream; a part of a
  /// millisecond is dropped. 0: as the browser thinks right, some seconds.
  duration retry = {};
};
static_assert(std::is_trivially_destructible_v<event_options>);

/// An event to send. Its texts need not outlive the call.
struct sent_event {
  /// The name, for addEventListener(); empty: "message". No line ends.
  std::string_view name = {};
  /// The data. Line ends (CR LF, LF, CR) arrive as line feeds.
  std::string_view data = {};
  /// The id, which a browser sends back as Last-Event-ID when it connects again; empty: none. No
  /// line ends, and no NUL.
  std::string_view id = {};
};
static_assert(std::is_trivially_destructible_v<sent_event>);

/// A response of server-sent events (WHATWG HTML, section 9.2; text/event-stream):
///   beck::task<> tell(http::request& q, http::response& r) {
///     http::event_stream events(q, r);
///     for (;;) {
///       const std::string text = co_await news.next();
///       auto sent = co_await events.send({.data = text});
///       if (sent.error()) co_return;
///     }
///   }
/// The response begins with the object, before the first event, and ends with the handler. A
/// handler with such an object waits for events: when the client leaves or the server stops, its
/// scope is stopped, as with route_options::waits_for_events. Browsers then connect again, unless
/// they get another status than 200: 204 tells them not to.
/// Thread: that of the handler. Lifetime: the request and the response outlive it.
class event_stream {
 public:
  /// Begins the response, with the fields that are set and Content-Type, and with Cache-Control:
  /// no-store and X-Accel-Buffering: no (nginx) unless these are set. Throws std::logic_error if
  /// the response has begun; std::invalid_argument for negative options; std::bad_alloc.
  event_stream(request& q, response& r, const event_options& how = {});
  event_stream(const event_stream&) = delete;
  event_stream& operator=(const event_stream&) = delete;
  ~event_stream();

  /// Returns the id of the last event that the client has got before it connected again: the field
  /// Last-Event-ID; an empty text if there is none. It comes from the client, so check it.
  std::string_view last_id() const noexcept;

  /// Sends an event. Completes when it is queued; waits for the client only while 64 KiB are
  /// unsent. Errors: eof if the request was HEAD, which has no body; broken_pipe if the connection
  /// is gone, or an event was cut by a cancellation; already_started during another send().
  /// Cancellation: ends with operation_aborted; if a part of the event was sent, the stream is
  /// broken. Throws std::invalid_argument for a line end in the name or the id, or a NUL in the id;
  /// std::bad_alloc.
  task<io_result<>> send(const sent_event& one);

 private:
  const request& request_;
  detail::event_sender* sender_;  // owns itself until close()
};

}  // namespace beck::http
