// SPDX-License-Identifier: BSL-1.0
// The handler of a request: it is chosen, called and waited for, and its reply is completed.
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/http/target.hpp>

#include "http/connection.hpp"
#include "http/worker.hpp"
#include "io/loop/io_loop.hpp"
#include "io/loop/loop_access.hpp"

namespace beck::http::detail {
namespace {

/// Returns the present time: that of the loop stands still while a handler computes.
std::int64_t read_clock() noexcept { return steady_now().nanoseconds(); }

/// Copies `from`, a text of a program, so that it stays one line of a log.
void append_printable(std::string& to, std::string_view from) {
  constexpr std::size_t bytes_max = 500;
  for (const char c : from.substr(0, bytes_max)) to += c >= ' ' && c != 0x7F ? c : '?';
}

constexpr const char* no_reply_text = "the handler did not reply";

/// Returns the exception of a handler without a reply, or that there is no memory for it.
std::exception_ptr no_reply() noexcept {
  try {
    throw std::logic_error(no_reply_text);
  } catch (...) {
    return std::current_exception();
  }
}

/// Returns what an exception says; for none, that there was no reply.
std::string what_of(const std::exception_ptr& thrown) {
  if (thrown == nullptr) return no_reply_text;
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

task<> throwing(std::exception_ptr what) {
  std::rethrow_exception(std::move(what));
  co_return;
}

}  // namespace

using beck::detail::allocate_block;

/// Chooses the handler of the request, and judges the length of its body.
route_choice connection::begin_exchange() {
  exchange_state& x = *active_;
  evict_hook.unlink();
  x.reply.clear();
  x.head_bytes = x.head.bytes();
  x.data_end = x.data_bytes = 0;
  x.waited_ns = 0;
  x.body_refusal = refusal::none;
  x.peer_ended = x.knows_end = x.is_stopped = false;
  x.route.clear();
  worker& w = *worker_;
  server_state& server = w.server();
  route_choice chosen{&server.table(), server.handler(), 0};
  if (chosen.table->choose != nullptr) {
    request q(x.head, *this);
    chosen = chosen.table->choose(chosen.handler, q);
    BECK_ASSERT(chosen.table->choose == nullptr, "a router chose a router");
  }
  x.waits_for_events = chosen.waits_for_events;
  if (server.reports_to() != nullptr) x.began = read_clock();
  x.continue_due = x.head.expects_continue() && x.head.framing() != body_framing::none;
  bound_body(chosen.body_bytes);
  replies_.output().hold_back();
  return chosen;
}

/// Bounds the body of the request, of which nothing was read; 0: by the limit of the server. A
/// length that is too large is refused before a handler sees it.
void connection::bound_body(std::uint64_t bytes_max) noexcept {
  exchange_state& x = *active_;
  body_limits bounds = worker_->bounds().bodies();
  if (bytes_max != 0) bounds.body_bytes = bytes_max;
  x.body_bytes_max = bounds.body_bytes;
  x.decoder = body_decoder(x.head, bounds);
  if (x.head.framing() != body_framing::length) return;
  static_cast<void>(x.decoder.decode({}));
  x.body_refusal = x.decoder.reason();
}

/// Takes over what a router has chosen inside a handler. Returns false if the body of the request
/// is too long for that: the handler must end without a reply.
bool connection::enter_route(const route_choice& chosen) noexcept {
  exchange_state& x = *active_;
  x.waits_for_events = x.waits_for_events || chosen.waits_for_events;
  const bool is_unread = x.data_bytes == 0 && x.decoder.bytes() == 0;
  const bool is_less = chosen.body_bytes != 0 && chosen.body_bytes < x.body_bytes_max;
  if (is_less && is_unread && x.body_refusal == refusal::none) bound_body(chosen.body_bytes);
  return x.body_refusal == refusal::none;
}

/// Moves the text of the head to a block, so that the handler may wait while input arrives.
void connection::copy_head() {
  exchange_state& x = *active_;
  const std::size_t bytes = x.head.bytes();
  x.text = static_cast<char*>(allocate_block(bytes + request_parser::padding));
  std::memcpy(x.text, input_.view().data(), bytes);
  x.head.rebase(x.text);
  input_.consume(std::exchange(x.head_bytes, 0));
  input_.keep();
}

/// Returns the exception that the handler threw.
std::exception_ptr connection::call_plain(const route_choice& chosen) {
  exchange_state& x = *active_;
  const bool is_kept = worker_->server().reports_to() != nullptr;  // the record needs the head
  if (is_kept) copy_head();
  request q(x.head, *this);
  response r(replies_);
  std::exception_ptr thrown;
  try {
    chosen.table->plain(chosen.handler, q, r);
  } catch (...) {
    thrown = std::current_exception();
  }
  if (!is_kept) log_failure(thrown);  // while the text of the head is there
  input_.consume(std::exchange(x.head_bytes, 0));
  return thrown;
}

/// Returns the task of the handler; one that throws, if the handler threw instead of returning.
task<> connection::call_coroutine(const route_choice& chosen, request& q, response& r) {
  try {
    return chosen.table->coroutine(chosen.handler, q, r);
  } catch (...) {
    return throwing(std::current_exception());
  }
}

/// Gives the exchange to a handler that may keep it. Returns the exception that the handler threw.
std::exception_ptr connection::call_callback(const route_choice& chosen) {
  copy_head();
  active_->exchange_gone.reset();
  active_->taken_by = shared_from_this();
  std::exception_ptr thrown;
  try {
    chosen.table->callback(chosen.handler,
                           exchange(*this, request(active_->head, *this), response(replies_)));
  } catch (...) {
    thrown = std::current_exception();
  }
  if (active_->is_taken()) handler_suspended();
  return thrown;
}

/// Ends the exchange that call_callback() has given away.
void connection::return_exchange() noexcept {
  const std::shared_ptr<connection> self = std::move(active_->taken_by);
  active_->exchange_gone.set();
}

/// The handler has suspended: what earlier exchanges have queued goes out, and the client is
/// watched.
void connection::handler_suspended() noexcept {
  replies_.output().release();
  replies_.output().flush_now();
  try {
    if (!watched_) watch_client(shared_from_this());
  } catch (...) {  // no memory: the handler is suspended, so its frame must not go now
    lose();
  }
  if (client_left_) note_left();
  if (worker_->is_draining()) stop_waiting();
}

/// Ends what uses the exchange, which is about to end: a write would go into the next reply, and a
/// read would take the next request.
void connection::end_operations() noexcept {
  if (operations_ != 0) lose();
  replies_.cancel_waits();
  end_client_wait(error::operation_aborted);
  evict_hook.unlink();
}

/// Returns whether an exception, or the lack of a reply, is no failure of the handler: the client
/// has left, or the server has stopped the handler.
bool connection::is_excused() const noexcept {
  const exchange_state& x = *active_;
  return x.peer_ended || x.knows_end || x.is_stopped || (lost_ && client_left_);
}

/// Answers for a handler that has ended without a reply. `why`: for one that is not excused.
void connection::answer_instead(std::string_view why) {
  exchange_state& x = *active_;
  if (x.peer_ended)
    return replies_.answer(status::bad_request, "the body of the request was cut short\n");
  if (x.is_stopped)
    return replies_.answer(status::service_unavailable, "the server is being stopped\n");
  if (x.knows_end) return lose();
  worker_->counters().failed.add();
  replies_.answer(status::internal_server_error, why);
}

/// Tells the log of the context that a handler threw, or ended without a reply: no client can tell
/// its programmer. Not if the client has caused it: it has gone, or its body was refused.
void connection::log_failure(const std::exception_ptr& thrown) noexcept {
  const exchange_state& x = *active_;
  const bool is_silent = !x.reply.begun && !x.reply.touched;
  if (thrown == nullptr && !is_silent) return;
  if (lost_ || is_excused() || x.body_refusal != refusal::none) return;
  try {
    std::string line("http: ");
    line.append(x.head.method_text()).append(" ");
    append_printable(line, split_target(x.head.target()).path);  // a query may have secrets
    append_printable(line.append(": "), what_of(thrown));
    beck::detail::loop_of(executor()).log(line.c_str());
  } catch (...) {
    return;  // no memory for it
  }
}

/// Completes the reply of a handler that has ended.
void connection::end_exchange(std::exception_ptr thrown) {
  if (active_->text != nullptr) log_failure(thrown);
  end_operations();
  replies_.output().hold_back();
  exchange_state& x = *active_;
  const bool threw = thrown != nullptr;
  worker_->counters().exchanges.add();
  const bool has_failed = threw && !is_excused();
  if (lost_ || is_tunnel_) {
    if (has_failed) worker_->counters().failed.add();
    if (x.reply.begun && !x.reply.ended) note_cut();
    if (worker_->server().reports_to() != nullptr) report(refusal::none, thrown);
    return;
  }
  const refusal why = x.reply.begun ? refusal::none : x.body_refusal;
  if (why != refusal::none) {
    refuse(why);
  } else if (!x.reply.begun && (threw || !x.reply.touched)) {
    const bool reports = worker_->server().reports_to() != nullptr;
    if (!threw && !is_excused() && reports) thrown = no_reply();
    answer_instead(threw ? "the handler failed\n" : "the handler did not reply\n");
  } else if (threw) {
    if (has_failed) worker_->counters().failed.add();
    note_cut();
    ending_ = true;
  } else {
    replies_.finish();
  }
  nothing_follows_ = !x.head.keeps_alive() && body_is_whole() && input_.empty();
  if (why == refusal::none && worker_->server().reports_to() != nullptr) report(why, thrown);
}

bool connection::ends_behind_reply() const noexcept {
  return ending_ || worker_->is_draining() || !active_->head.keeps_alive() || !can_drop_rest();
}

void connection::note_cut() noexcept {
  active_->reply.cut = true;
  worker_->counters().cut.add();
}

/// Tells the server's observer of an exchange that has ended.
void connection::report(refusal why, const std::exception_ptr& thrown) {
  const exchange_state& x = *active_;
  exchange_record record;
  record.peer = peer;
  record.client = peer.address();
  if (x.head.bytes() != 0) {
    record.request = &x.head;
    record.client = client_address(x.head);
    record.request_bytes = x.decoder.bytes();
    record.time = duration(read_clock() - x.began);
  }
  if (x.reply.begun) {
    record.status = number_of(x.reply.status);
  } else if (client_left_ && !body_is_whole()) {
    record.status = number_of(status::bad_request);
  }
  if (replies_.body_allowed()) record.reply_bytes = x.reply.sent;
  record.why = why;
  record.cut = x.reply.cut;
  record.thrown = thrown;
  worker_->server().reports_to()->call(record);
}

std::shared_ptr<void>& connection::local(const void* key) { return worker_->local(key); }

connection& connection_of(request& q) noexcept { return *q.connection_; }

}  // namespace beck::http::detail

namespace beck::http {

exchange::exchange(exchange&& other) noexcept
    : connection_(std::exchange(other.connection_, nullptr)),
      request_(other.request_),
      response_(other.response_) {}

exchange& exchange::operator=(exchange&& other) noexcept {
  if (this == &other) return *this;
  if (connection_ != nullptr) connection_->return_exchange();
  connection_ = std::exchange(other.connection_, nullptr);
  request_ = other.request_;
  response_ = other.response_;
  return *this;
}

exchange::~exchange() {
  if (connection_ != nullptr) connection_->return_exchange();
}

any_io_executor exchange::get_executor() const noexcept { return connection_->executor(); }

std::string_view request::param(std::string_view name) const noexcept {
  return connection_->route().get(name);
}

}  // namespace beck::http
