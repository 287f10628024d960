// SPDX-License-Identifier: BSL-1.0
//
// The position of a request in a distributed trace: the field traceparent, which tracing systems
// such as OpenTelemetry share. Source: W3C Trace Context.
#pragma once

#include <beck/detail/fixed_text.hpp>
#include <string_view>

namespace beck {

class any_io_executor;

namespace http {

class request;

/// A span of a trace: an id of the trace, an id of the span, and whether the trace is recorded. A
/// value that is trivially copyable: for a slot of an exchange, or for a local_key, so that calls
/// of a client find it (client::before_call()).
///   const http::trace_context mine = http::trace_context::of(q);   // a span of the server
///   call.set("traceparent", mine.child(on).text());                // a span of the client below
/// The program forwards the field tracestate as it is. Thread: any.
class trace_context {
 public:
  /// Makes one without a trace.
  trace_context() noexcept = default;
  /// Returns the span that the value of a field traceparent names: the caller's. A malformed one,
  /// an id of zeros, or version ff is no trace; of a later version than 00 the parts that this one
  /// has are read.
  static trace_context parse(std::string_view traceparent) noexcept;
  /// Returns a span for a request, below the span of its client. Without a traceparent, or with two
  /// or a bad one, it is the first of a new trace, which is not recorded; see sampled().
  static trace_context of(const request& q) noexcept;

  /// Returns whether there is a trace.
  explicit operator bool() const noexcept { return has_trace_; }
  /// Returns a span below this one, with a random id; of none the first of a new trace. `on`: an
  /// executor of the context, whose random numbers are used.
  trace_context child(const any_io_executor& on) const noexcept;
  /// Returns whether the trace is recorded.
  bool is_sampled() const noexcept { return (flags_ & 1U) != 0; }
  /// Sets whether the trace is recorded. Of the spans below, too.
  trace_context& sampled(bool on) noexcept {
    flags_ = static_cast<unsigned char>((flags_ & ~1U) | (on ? 1U : 0U));
    return *this;
  }
  /// Returns whether `other` is a span of the same trace.
  bool is_same_trace(const trace_context& other) const noexcept;

  /// Returns the id of the trace, 32 hexadecimal digits; zeros without one.
  beck::detail::fixed_text<32> trace_id() const noexcept;
  /// Returns the id of the span, 16 hexadecimal digits; zeros without a trace.
  beck::detail::fixed_text<16> span_id() const noexcept;
  /// Returns the value of the field traceparent; an empty text without a trace.
  beck::detail::fixed_text<55> text() const noexcept;

 private:
  unsigned char trace_[16] = {};
  unsigned char span_[8] = {};
  unsigned char flags_ = 0;
  bool has_trace_ = false;
};

}  // namespace http
}  // namespace beck
