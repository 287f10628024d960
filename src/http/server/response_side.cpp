// SPDX-License-Identifier: BSL-1.0
// Heads, whole responses, parts of bodies, and the waits of a handler for room.
#include "http/server/response_side.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>
#include <utility>

#include <beck/base/assert.hpp>

#include "base/transitions.hpp"
#include "http/server/connection.hpp"
#include "http/server/worker.hpp"

namespace beck::http::detail {
namespace {

constexpr std::size_t copied_max = 4096;   // a larger body is sent first, and its rest copied
constexpr std::size_t chunk_max = 16'384;  // the most that one write of a handler takes
constexpr std::size_t framing_max = 256;   // the lines of a response that the server sets
constexpr std::size_t digits_max = 20;

enum class stage_event : std::uint8_t {
  begin,   ///< its head is written now
  stream,  ///< the head is written, and parts of the body follow
  end,     ///< all of it is written, or it will never be
};

/// In the order of stage_event.
constexpr beck::detail::transition_table<response_stage, 3> stage_transitions = [] {
  using beck::detail::any_but;
  using beck::detail::any_of;
  using enum response_stage;
  return beck::detail::transition_table<response_stage, 3>{{
      /* begin  */ {response_stage::head, any_of({unsent})},
      /* stream */ {body, any_of({response_stage::head})},
      /* end    */ {ended, any_but({ended})},
  }};
}();

void change_stage(response_state& of, stage_event event) noexcept {
  beck::detail::advance(of.stage, event, stage_transitions);
}

/// Returns whether the connection ends after a response whose head is written now.
bool ends_behind_response(connection& of) noexcept {
  return !of.may_go_on() || of.server_worker().is_draining() ||
         !of.active().request.head.keeps_alive() || !of.requests().can_drop_rest();
}

}  // namespace

bool response_side::body_allowed() const noexcept {
  return !is_bodiless(state().status) && connection_.active().request.head.method() != method::head;
}

void response_side::call_hooks() {
  connection_exchange& x = connection_.active();
  if (x.hooks.empty()) return;
  x.hooks.run(x.make_request(), x.make_response());
  x.response.require_no_head();
}

std::exception_ptr response_side::try_hooks() noexcept {
  try {
    call_hooks();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

/// Decides whether the connection ends behind the response, immediately before its head is written:
/// a client that keeps connections would lose the request that it sends next, if the head did not
/// say so. Without memory in the middle of the head there is no other response.
void response_side::begin_head() noexcept {
  response_state& response = state();
  if (ends_behind_response(connection_)) response.close = true;
  if (connection_.handlers().has_observer()) response.began = steady_now().nanoseconds();
  change_stage(response, stage_event::begin);
}

/// Writes the head of the response to the output. `length`: that of the body if it is known; else
/// the body is sent in chunks, or ends with the connection.
void response_side::write_head(bool has_body_length, std::uint64_t length) {
  const request_head& request = connection_.active().request.head;
  response_state& response = state();
  beck::byte_queue& queue = output_.queue();
  if (!has_body_length && !is_bodiless(response.status)) {
    const bool chunks = request.minor_version() != 0;
    if (chunks) response.framing = body_framing::chunked;
    if (!chunks) response.close = true;
  }
  char* const begin = queue.prepare(framing_max);
  char* at = begin;
  const auto put = [&at, begin](std::string_view text) {
    BECK_ASSERT(text.size() + digits_max <= framing_max - static_cast<std::size_t>(at - begin),
                "the lines that the server writes into a head need more room");
    at = std::copy(text.begin(), text.end(), at);  // text may be null: a status without a reason
  };
  const unsigned number = number_of(response.status);
  put("HTTP/1.1 ");
  for (const unsigned unit : {100U, 10U, 1U}) *at++ = static_cast<char>('0' + number / unit % 10);
  put(" ");
  put(reason_of(response.status));
  put("\r\n");
  put(connection_.server_worker().date().view());
  if (response.framing == body_framing::chunked) {
    put("Transfer-Encoding: chunked\r\n");
  } else if (has_body_length && !is_bodiless(response.status)) {
    put("Content-Length: ");
    at = std::to_chars(at, at + digits_max, length).ptr;
    put("\r\n");
  }
  const bool offers = response.status == status::upgrade_required;  // in the Upgrade field
  if (response.close) {
    put(offers ? "Connection: close, upgrade\r\n" : "Connection: close\r\n");
  } else if (offers) {
    put("Connection: upgrade\r\n");
  } else if (request.minor_version() == 0) {
    put("Connection: keep-alive\r\n");
  }
  if (response.fields.empty()) {
    put("\r\n");
    queue.commit(static_cast<std::size_t>(at - begin));
  } else {
    queue.commit(static_cast<std::size_t>(at - begin));
    queue.append(response.fields.text());
    queue.append("\r\n");
  }
}

void response_side::send(std::string_view body) {
  response_state& response = state();
  response.require_no_head();
  if (!connection_.is_lost()) call_hooks();
  if (response.has_length() && response.length != body.size())
    throw std::logic_error("http: a body of another length than content_length() has said");
  if (connection_.is_lost()) {
    change_stage(response, stage_event::end);
    return;
  }
  begin_head();
  write_head(true, body.size());
  if (body_allowed()) {
    response.sent = body.size();
    if (body.size() > copied_max) {
      output_.send_behind(body);
    } else {
      output_.queue().append(body);
    }
  }
  output_.schedule();
  change_stage(response, stage_event::end);
  if (response.close) connection_.serve_no_more();
}

/// Sends the head of a response whose body the handler writes in parts.
void response_side::begin_stream() {
  call_hooks();
  begin_head();
  write_head(state().has_length(), state().length);
  change_stage(state(), stage_event::stream);
  if (state().close) connection_.serve_no_more();
}

/// Returns whether parts of the body may follow: the response has not ended, nor was half a head
/// written.
bool response_side::may_take_parts() const noexcept {
  return state().stage == response_stage::unsent || state().stage == response_stage::body;
}

/// Adds a part of the body to the output, as a chunk if the body is chunked.
void response_side::append_part(std::string_view text) {
  BECK_ASSERT(!text.empty(), "an empty chunk would end the body");
  beck::byte_queue& queue = output_.queue();
  if (state().framing != body_framing::chunked) return queue.append(text);
  char* const line = queue.prepare(digits_max);
  char* at = std::to_chars(line, line + digits_max, text.size(), 16).ptr;
  *at++ = '\r';
  *at++ = '\n';
  queue.commit(static_cast<std::size_t>(at - line));
  queue.append(text);
  queue.append("\r\n");
}

bool response_side::write_ready(const_buffer data, std::size_t& bytes, error_code& ec) {
  response_state& response = state();
  bytes = 0;
  if (connection_.is_lost()) {
    ec = make_error_code(std::errc::broken_pipe);
  } else if (!may_take_parts()) {
    ec = make_error_code(std::errc::invalid_argument);
  } else if (response.has_length() && data.size() > response.length - response.sent) {
    ec = make_error_code(std::errc::message_size);
  } else if (data.size() == 0) {
    return true;
  }
  if (ec) return true;
  if (!response.has_begun()) call_hooks();  // before anything that cannot be taken back
  try {
    if (!response.has_begun()) begin_stream();
    if (!output_.has_room()) return false;
    const std::string_view text(static_cast<const char*>(data.data()), data.size());
    if (body_allowed()) append_part(text.substr(0, chunk_max));
  } catch (...) {
    connection_.lose();
    throw;
  }
  bytes = std::min(data.size(), chunk_max);
  response.sent += bytes;
  BECK_ASSERT(!response.has_length() || response.sent <= response.length,
              "a body is longer than its head has announced");
  output_.schedule();
  return true;
}

bool response_side::flush_ready(error_code& ec) {
  if (!connection_.is_lost() && !state().has_begun()) begin_stream();
  output_.flush_now();
  if (connection_.is_lost()) ec = make_error_code(std::errc::broken_pipe);
  return connection_.is_lost() || output_.empty();
}

void response_side::finish() {
  response_state& response = state();
  if (!response.has_begun() && (!response.has_length() || response.length == 0)) {
    send({});
  } else if (response.stage != response_stage::ended) {
    if (!response.has_begun()) begin_stream();  // all of a response to HEAD
    const bool is_half = response.stage == response_stage::head;
    change_stage(response, stage_event::end);
    const bool is_short =
        response.broken || (response.has_length() && response.sent != response.length);
    if (is_half || (is_short && body_allowed())) {
      note_cut();  // the promise is broken: only the end of the connection tells
      connection_.serve_no_more();
    } else if (response.framing == body_framing::chunked && body_allowed()) {
      output_.queue().append("0\r\n\r\n");
    }
  }
}

void response_side::note_cut() noexcept {
  state().cut = true;
  connection_.server_worker().counters().cut.add();
}

void response_side::answer(const page_cause& cause) {
  std::string body = set_answer(cause);
  const std::exception_ptr thrown = try_hooks();
  if (thrown != nullptr) {
    connection_.handlers().log_failure(thrown);
    body = set_answer(cause_of(thrown));
  }
  send(body);
}

/// Replaces what the handler has set by an error page. Returns its body.
std::string response_side::set_answer(const page_cause& cause) {
  response_state& response = state();
  const bool close = response.close;
  response.clear();
  response.close = close;
  if (cause.why == refusal::trace_refused)
    response.fields.add(field::allow, name_of(field::allow), all_methods_text);
  return connection_.active().put_page(cause);
}

void response_side::send_tunnel_head() {
  const request_head& request = connection_.active().request.head;
  response_state& response = state();
  const bool upgrades = request.method() != method::connect;
  if (upgrades) response.status = status::switching_protocols;
  std::string head("HTTP/1.1 ");
  head.append(std::to_string(number_of(response.status))).append(" ");
  head.append(reason_of(response.status))
      .append("\r\n")
      .append(connection_.server_worker().date().view());
  if (upgrades) head.append("Connection: upgrade\r\n");
  head.append(response.fields.text()).append("\r\n");
  connection_.serve_no_more();  // whatever becomes of the head
  if (connection_.handlers().has_observer()) response.began = steady_now().nanoseconds();
  change_stage(response, stage_event::end);
  output_.queue().append(head);
}

// --- waits ---------------------------------------------------------------------------------------

void response_side::wait_for_room(const_buffer data, response_write::handler done) noexcept {
  BECK_ASSERT(!room_done_, "a write that waits for room is replaced by another one");
  room_data_ = data;
  room_done_ = std::move(done);
  output_.flush_now();
}

void response_side::wait_for_flush(response_flush::handler done) noexcept {
  BECK_ASSERT(!flush_done_, "a flush that waits is replaced by another one");
  flush_done_ = std::move(done);
}

void response_side::cancel_waits() noexcept {
  cancel_room();
  cancel_flush();
}

void response_side::cancel_room() noexcept {
  response_write::handler done = std::move(room_done_);
  done(error::operation_aborted, 0);
}

void response_side::cancel_flush() noexcept {
  response_flush::handler done = std::move(flush_done_);
  done(error::operation_aborted);
}

void response_side::wake() noexcept {
  const bool is_lost = connection_.is_lost();
  if (room_done_ && (is_lost || output_.has_room())) {
    response_write::handler done = std::move(room_done_);
    std::size_t bytes = 0;
    error_code ec;
    try {
      static_cast<void>(write_ready(room_data_, bytes, ec));
    } catch (...) {
      ec = make_error_code(std::errc::not_enough_memory);
    }
    done(ec, bytes);
  }
  if (flush_done_ && (is_lost || output_.empty())) {
    response_flush::handler done = std::move(flush_done_);
    done(is_lost ? make_error_code(std::errc::broken_pipe) : error_code());
  }
}

void response_side::drop_waits() noexcept {
  const response_write::handler room = std::move(room_done_);
  const response_flush::handler flush = std::move(flush_done_);
}

}  // namespace beck::http::detail
