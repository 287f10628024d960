// SPDX-License-Identifier: BSL-1.0
// Heads, the waits for them, and the end of the input.
#include "http/server/request_side.hpp"

#include <cstring>
#include <utility>

#include <beck/base/assert.hpp>

#include "http/server/connection.hpp"
#include "http/server/worker.hpp"

namespace beck::http::detail {
namespace {

enum class input_event : std::uint8_t {
  be_late,  ///< the time of a head, or of a handshake, is over
  end_all,  ///< the last request that the client will send was received
  end,      ///< the end was received
  fail,     ///< an error was received
};

/// In the order of input_event.
constexpr beck::detail::transition_table<input_state, 4> input_transitions = [] {
  using beck::detail::any_of;
  using enum input_state;
  return beck::detail::transition_table<input_state, 4>{{
      /* be_late */ {late, any_of({open})},
      /* end_all */ {last, any_of({open})},
      /* end     */ {ended, any_of({open})},
      /* fail    */ {failed, any_of({open})},
  }};
}();

/// Returns the phase of a connection that starts to wait for a request.
phase idle_phase(const connection& of) noexcept {
  if (of.server_worker().is_draining()) return phase::draining;
  return of.evict_hook.is_linked() ? phase::fresh : phase::kept;
}

}  // namespace

void request_side::enter(phase next) noexcept {
  connection_.server_worker().clock().enter(receiving_, next);
}

parse_status request_side::parse_head() {
  if (input_.empty()) return parse_status::more;
  incoming_request& x = connection_.make_active().request;
  const parse_status status = x.parser.parse_padded(input_.view(), x.head);
  if (status == parse_status::more) {
    if (receiving_.in != phase::head) enter(phase::head);
  } else {
    enter(phase::none);
  }
  return status;
}

bool request_side::begin_waiting() {
  if (connection_.is_lost() || state_ != input_state::open) return false;
  if (input_.empty()) {
    connection_.drop_active();
    input_.release();
    enter(idle_phase(connection_));
  } else {
    input_.keep();
  }
  return true;
}

bool request_side::end_waiting(io_result<buffer_lease>&& received) {
  if (received.error()) {
    if (receiving_.in != phase::none) enter(phase::none);
    note_error(received.error());
    if (state_ == input_state::failed) connection_.lose();
    return false;
  }
  input_.add(std::move(received).value());
  return state_ == input_state::open &&
         !connection_.is_lost();  // both may change while this is queued
}

/// Notes the first error of a receive, which may be the end of the input.
void request_side::note_error(const error_code& why) noexcept {
  if (state_ != input_state::open) return;
  advance(state_, why == error::eof ? input_event::end : input_event::fail, input_transitions);
}

void request_side::begin() noexcept {
  incoming_request& x = active();
  ++begun_;
  x.head_bytes = x.head.bytes();
  x.data_end = x.data_bytes = 0;
  x.waited_ns = 0;
  x.body_refusal = refusal::none;
  x.continue_due = x.head.expects_continue() && x.head.framing() != body_framing::none;
}

void request_side::copy_head() {
  incoming_request& x = active();
  const std::size_t bytes = x.head.bytes();
  BECK_ASSERT(x.text == nullptr && x.head_bytes == bytes, "the text of a head is copied twice");
  BECK_ASSERT(bytes <= input_.view().size(), "a head is longer than the input that it lies in");
  x.text = static_cast<char*>(beck::detail::allocate_block(bytes + request_parser::padding));
  std::memcpy(x.text, input_.view().data(), bytes);
  x.head.rebase(x.text);
  drop_head();
  input_.keep();
}

void request_side::drop_head() noexcept { input_.consume(std::exchange(active().head_bytes, 0)); }

void request_side::be_late() noexcept { advance(state_, input_event::be_late, input_transitions); }

void request_side::note_last() noexcept {
  const bool is_last = !active().head.keeps_alive() && body_is_whole() && input_.empty();
  if (is_last && state_ == input_state::open)
    advance(state_, input_event::end_all, input_transitions);
}

task<> request_side::linger() {
  input_.release();
  std::size_t left = connection_.bounds().linger_bytes;
  enter(phase::linger);
  const bool more_may_come = state_ == input_state::open || state_ == input_state::late;
  while (more_may_come && left != 0) {
    auto received = co_await connection_.stream().receive();
    if (received.error()) break;
    const std::size_t bytes = std::move(received).value().size();
    left = left > bytes ? left - bytes : 0;
  }
}

}  // namespace beck::http::detail
