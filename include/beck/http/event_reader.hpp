// SPDX-License-Identifier: BSL-1.0
//
// Server-sent events at a client: the events in the body of a response, one after the other, as
// they arrive. Many services, such as language models, stream their results this way.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/base/io_result.hpp>
#include <beck/coro/task.hpp>
#include <beck/http/client_response.hpp>
#include <beck/http/event_limits.hpp>
#include <string>  // lint: allow heavy-header, error.hpp has it already
#include <string_view>

namespace beck::http {

namespace detail {
class event_source;
}

/// An event that was received.
struct received_event {
  received_event() = default;

  std::string name;  ///< "message" if the server has not set one
  std::string data;  ///< its lines, with a line feed between them
  std::string id;    ///< that of this event, or of the last one that had one
};

/// Reads the events of a body. Interprets the stream as browsers do: lines end with CR LF, LF or
/// CR, a byte order mark at the beginning is skipped, so are comments and unknown fields, and an
/// event that the end of the body cuts short is dropped. Bytes that are not UTF-8 stay as they are.
///   http::event_reader events(response.body());
///   for (;;) {
///     auto one = co_await events.next();
///     if (one.error()) break;                       // eof: the server has ended the stream
///     if (one->data == "[DONE]") break;
///     use(one->data);
///   }
/// A server of events may be silent for long, and sends little: set client_options::body_rate to 0,
/// and body_timeout above the time between the comments of the server, most often 15 s to 30 s.
/// The program checks the status of the response, and connects again if it wants to: with last_id()
/// in the field Last-Event-ID, after retry(). Source: WHATWG HTML, section 9.2.
/// Lifetime: the response outlives it. Thread: that of the client.
class event_reader {
 public:
  /// Begins with a body of which nothing was read. `last_id`: what the request has said in
  /// Last-Event-ID; it is the last id until an event has another one. Throws std::bad_alloc.
  explicit event_reader(const response_body& body, const event_limits& bounds = {},
                        std::string_view last_id = {});
  event_reader(event_reader&& other) noexcept;
  event_reader& operator=(event_reader&& other) noexcept;
  ~event_reader();

  /// Receives the next event. Errors: eof at the end of the body; message_size (std::errc) above
  /// one of the event_limits, and then for ever; else those of a read of the body, such as
  /// client_error::body_late if the server says nothing for longer than client_options allow.
  /// Cancellation: ends with operation_aborted; no event is lost. Throws std::bad_alloc. One at a
  /// time.
  task<io_result<received_event>> next();

  /// Returns the id for Last-Event-ID; an empty text if there was none.
  std::string_view last_id() const noexcept;
  /// Returns how long the server asks a client to wait before it connects again: 31 years at most;
  /// 0 if it has not said so.
  duration retry() const noexcept;

 private:
  detail::event_source* source_;
};

}  // namespace beck::http
