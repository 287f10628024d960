// SPDX-License-Identifier: BSL-1.0
// The course of a call: a connection, the request, the head of the response; once more if the
// connection had ended before it was used; again for each redirect.
#include "http/client/client_exchange.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/http/client_error.hpp>

namespace beck::http::detail {
namespace {

constexpr std::uint64_t reserved_max = 1'048'576;  // by read_all(), for any length in the head

}  // namespace

exchange_ref::exchange_ref(const exchange_ref& other) noexcept : exchange_(other.exchange_) {
  if (exchange_ != nullptr) exchange_->add_share();
}

exchange_ref& exchange_ref::operator=(exchange_ref&& other) noexcept {
  const exchange_ref old(std::move(*this));
  exchange_ = std::exchange(other.exchange_, nullptr);
  return *this;
}

exchange_ref::~exchange_ref() {
  if (exchange_ != nullptr) exchange_->drop_share();
}

client_exchange::client_exchange(std::shared_ptr<client_pool> of, std::string_view url)
    : pool_(std::move(of)), request_(url) {
  attempt_.emplace(request_, pool_->bounds());
}

client_request& client_exchange::open_request() {
  if (attempt_->output().is_begun() || (is_finishing_ && !is_preparing_))
    throw std::logic_error("http: the head of the request was sent");
  return request_;
}

void client_exchange::take_for_finish() {
  if (is_finishing_ || is_preparing_) throw std::logic_error("http: the call was finished before");
  is_finishing_ = true;
}

// --- the course ----------------------------------------------------------------------------------

task<error_code> client_exchange::run(exchange_ref self) {
  client_exchange& x = *self;
  const operation_turn turn(x, call_operation::finish);
  error_code ec;
  if (!turn.is_taken()) ec = error::already_started;  // a write is under way, which ends, too
  if (!ec && !x.is_begun_) {
    x.begin_clock();
    if (x.has_to_prepare()) ec = co_await x.in_time(x.prepare());
  }
  if (!ec && x.is_limited()) {
    ec = co_await x.in_time(x.make_attempts());
  } else if (!ec) {
    ec = co_await x.make_attempts();
  }
  if (ec) {
    x.fail(ec);
  } else {
    x.pool_->counters().responses.add();
    x.note_head();
  }
  x.report_end();
  co_return ec;
}

/// Requests and responses, up to the head of the one that is the result.
task<error_code> client_exchange::make_attempts() {
  error_code ec;
  for (bool again = true; again;) {
    ec = co_await make_attempt();
    if (!ec) ec = check_proxy();
    if (!ec) decode();  // a body of no bytes gives the connection back
    again = !ec && redirect(ec);
  }
  co_return ec;
}

/// Returns the error of a proxy that wants credentials: its response is none of the origin.
error_code client_exchange::check_proxy() {
  const std::shared_ptr<client_connection>& over = attempt_->connection();
  const bool is_refused = over != nullptr && over->form().has_whole_url &&
                          response().head().status() == status::proxy_authentication_required;
  if (!is_refused) return error_code();
  failure_text_ = "the proxy " + over->form().proxy_name + ": it answered 407";
  attempt_->close();
  return client_error::proxy_refused;
}

/// One request and the head of its response; a second one if the first may be repeated.
task<error_code> client_exchange::make_attempt() {
  error_code ec = failed_;
  if (!ec) ec = request_.check();
  if (!ec && attempt_->output().is_begun()) {
    ec = attempt_->end_stream();
  } else if (!ec) {
    if (request_.kind == request_body_kind::chunked) {
      request_.kind = request_body_kind::none;  // no write has come so far as to connect
    }
    if (request_.kind == request_body_kind::length && request_.length != 0) {
      ec = client_error::wrong_length;
    } else {
      ec = co_await get_connection();
    }
    if (!ec) attempt_->send();
  }
  if (ec) co_return ec;
  ec = co_await attempt_->receive_head();
  if (!attempt_->may_retry(ec)) co_return ec;
  pool_->counters().retries.add();
  place at = attempt_->surrender();
  attempt_.reset();
  attempt_.emplace(request_, pool_->bounds());
  ec = co_await make_connection(std::move(at));
  if (ec) co_return ec;
  attempt_->send();
  ec = co_await attempt_->receive_head();
  co_return ec;
}

/// Begins the attempt with a connection of the pool.
task<error_code> client_exchange::get_connection() {
  const origin_key key(request_.to);
  granted got;
  error_code ec = co_await pool_->acquire(key.view(), got);
  if (!ec) ec = begin_error();
  if (ec) co_return ec;
  if (got.connection != nullptr) {
    begin(std::move(got.connection));
    co_return ec;
  }
  ec = co_await make_connection(std::move(got.room));
  co_return ec;
}

/// Begins the attempt with a new connection.
task<error_code> client_exchange::make_connection(place at) {
  failure_text_.clear();
  auto made = co_await pool_->connect(std::move(at), request_.to, failure_text_);
  if (made.error()) co_return made.error();
  if (const error_code ec = begin_error(); ec) {
    made.value_->close();
    co_return ec;
  }
  begin(std::move(made.value_));
  co_return error_code();
}

/// Returns the error of an attempt that cannot begin any more after a wait: another operation has
/// begun or ended the call, or the caller has changed the target to one that no server takes.
error_code client_exchange::begin_error() const noexcept {
  if (attempt_->output().is_begun() || failed_) return error::operation_aborted;
  return request_.check();
}

/// Begins the attempt. Without memory for the head the call has failed.
void client_exchange::begin(std::shared_ptr<client_connection> with) {
  ++attempts_;
  try {
    attempt_->begin(std::move(with));
  } catch (...) {
    fail(make_error_code(std::errc::not_enough_memory));
    throw;
  }
}

/// Prepares the attempt that a redirect asks for. Returns false if the response is the result.
bool client_exchange::redirect(error_code& ec) {
  if (!request_.follow(response().head(), pool_->bounds().redirects, ec)) return false;
  abandon();
  attempt_.reset();
  attempt_.emplace(request_, pool_->bounds());
  pool_->counters().redirects.add();
  return true;
}

// --- the request ---------------------------------------------------------------------------------

bool client_exchange::write_ready(const_buffer data, std::size_t& bytes, error_code& ec) {
  const request_writer& output = attempt_->output();
  bytes = 0;
  if (failed_ || data.size() == 0) {
    ec = failed_;
    return true;
  }
  if (output.is_whole() || request_.kind == request_body_kind::whole) {  // async_finish() has it
    ec = make_error_code(std::errc::invalid_argument);
    return true;
  }
  if (attempt_->connection() == nullptr) {
    if (output.is_begun()) ec = error::operation_aborted;  // the call is gone
    return output.is_begun();
  }
  const bool is_done = attempt_->write_ready(data, bytes, ec);
  failed_ = response().error();
  return is_done;
}

task<io_result<std::size_t>> client_exchange::write(exchange_ref self, const_buffer data) {
  client_exchange& x = *self;
  client_attempt& attempt = *x.attempt_;  // only run() makes another one
  std::size_t bytes = 0;
  error_code ec;
  const operation_turn turn(x, call_operation::write);
  if (!turn.is_taken()) co_return io_result<std::size_t>(error::already_started, 0);
  if (attempt.connection() == nullptr && !x.failed_ && !attempt.output().is_begun()) {
    if (x.request_.kind == request_body_kind::none) x.request_.kind = request_body_kind::chunked;
    ec = x.request_.check();
    bool prepares = false;
    if (!ec && !x.is_begun_) {
      x.begin_clock();
      prepares = x.has_to_prepare();
      if (prepares) ec = co_await x.in_time(x.prepare());
    }
    if (!ec) ec = co_await x.in_time(x.get_connection());
    // A cancelled preparation may lack anything, a token for one: no later operation may send it.
    if (ec && (prepares || ec != error::operation_aborted)) x.fail(ec);
    if (!ec && x.request_.expects_continue) attempt.connection()->flush();
  }
  if (!ec && x.request_.expects_continue && !x.response().is_continued() &&
      attempt.connection() != nullptr)
    ec = co_await x.in_time(attempt.wait_for_continue());
  while (!ec && !x.write_ready(data, bytes, ec)) {
    const std::shared_ptr<client_connection> c = attempt.connection();
    if (x.is_limited()) {
      auto waited = co_await with_deadline(x.due_, c->sent().wait());
      ec = waited.error();
    } else {
      auto waited = co_await c->sent().wait();
      ec = waited.error();
    }
    if (ec && x.is_late()) ec = client_error::call_late;
  }
  if (ec == client_error::call_late) x.fail(ec);
  x.report_end();
  co_return io_result<std::size_t>(ec, bytes);
}

// --- the body of the response --------------------------------------------------------------------

/// Decodes the body up to its next piece, or its end.
void client_exchange::decode() noexcept {
  error_code ec;
  if (attempt_->connection() != nullptr) static_cast<void>(attempt_->decode(ec));
  if (ec) fail_body(ec);
}

bool client_exchange::read_ready(mutable_buffer to, std::size_t& bytes, error_code& ec) {
  bytes = 0;
  if (to.size() == 0) return true;
  if (response().is_whole()) {
    ec = error::eof;
    return true;
  }
  if (attempt_->connection() == nullptr) {
    ec = failed_ ? failed_ : make_error_code(error::operation_aborted);
    return true;
  }
  const bool is_done = attempt_->read_ready(to, bytes, ec);
  BECK_ASSERT(bytes <= to.size(), "a read has returned more than there is room for");
  if (ec && ec != error::eof) fail_body(ec);
  if (bytes != 0) ec.clear();  // the next read has it
  report_end();
  return is_done;
}

task<io_result<std::size_t>> client_exchange::read(exchange_ref self, mutable_buffer to) {
  client_exchange& x = *self;
  std::size_t bytes = 0;
  error_code ec;
  const operation_turn turn(x, call_operation::read);
  if (!turn.is_taken()) co_return io_result<std::size_t>(error::already_started, 0);
  while (!x.read_ready(to, bytes, ec)) {
    if (x.is_limited()) {
      ec = co_await x.in_time(x.attempt_->receive_body(to, bytes));
    } else {
      ec = co_await x.attempt_->receive_body(to, bytes);
    }
    if (ec && ec != error::operation_aborted) x.fail_body(ec);
    if (ec) break;
    if (bytes != 0) {
      if (x.response().body().is_done()) x.decode();  // ends it
      break;
    }
  }
  x.report_end();
  co_return io_result<std::size_t>(ec, bytes);
}

task<io_result<std::string>> client_exchange::read_all(exchange_ref self, std::size_t limit) {
  constexpr std::size_t step = 16'384;
  client_exchange& x = *self;
  const received_response& response = x.response();
  io_result<std::string> result;
  std::string& text = result.value_;
  limit = std::min(limit, text.max_size() - 1);
  if (response.has_head()) {
    text.reserve(static_cast<std::size_t>(
        std::min<std::uint64_t>({response.head().content_length(), limit, reserved_max}) + 1));
  }
  error_code ec;
  for (;;) {
    const std::size_t before = text.size();
    BECK_ASSERT(before <= limit, "a body was read beyond its limit");
    std::size_t room = std::min(step, limit - before + 1);  // one more byte: to see an excess
    const std::uint64_t known = response.body().known_bytes();
    if (known != 0 && known < room) room = static_cast<std::size_t>(known) + 1;  // direct_room()
    text.resize(before + room);
    const mutable_buffer to(text.data() + before, text.size() - before);
    std::size_t bytes = 0;
    if (x.is_busy()) {
      ec = error::already_started;
    } else if (!x.read_ready(to, bytes, ec)) {
      auto got = co_await read(self, to);
      bytes = got.value_;
      ec = got.error();
    }
    text.resize(before + bytes);
    if (ec) break;
    if (text.size() > limit) {
      text.resize(limit);
      ec = make_error_code(std::errc::message_size);
      x.fail_body(ec);
      break;
    }
  }
  if (ec != error::eof) result.error_ = ec;
  co_return result;
}

// --- the end -------------------------------------------------------------------------------------

void client_exchange::fail(error_code ec) noexcept {
  fail_body(ec);
  attempt_->fail();
}

/// Notes the error of the call, or of its body, closes the connection, and keeps the sentence of
/// its stream.
void client_exchange::fail_body(error_code ec) noexcept {
  failed_ = ec;
  if (attempt_->connection() == nullptr) return;
  try {
    failure_text_ = std::string(attempt_->connection()->stream().error_text());
  } catch (...) {
    failure_text_.clear();  // the code says enough
  }
  attempt_->close();
}

void client_exchange::abandon() noexcept {
  error_code ec;
  if (!failed_ && operation_ != call_operation::read) ec = attempt_->drop_rest();
  if (ec) fail_body(ec);
  attempt_->close();
}

client_exchange::~client_exchange() {
  abandon();
  is_dropped_ = true;
  report_end();
}

std::string client_exchange::error_text() const {
  return failed_ ? request_.error_text(failed_, failure_text_) : std::string();
}

taken_stream client_exchange::take_over() {
  if (!response().is_upgraded() || attempt_->connection() == nullptr)
    throw std::logic_error("http: only a response with status 101 gives its stream away");
  return attempt_->take_over();
}

}  // namespace beck::http::detail
