// SPDX-License-Identifier: BSL-1.0
// The course of a call: a connection, the request, the head of the response; once more if the
// connection had ended before it was used; again for each redirect.
#include "http/client/client_exchange.hpp"

#include <cstring>
#include <initializer_list>
#include <stdexcept>

#include <beck/coro/timeout.hpp>
#include <beck/http/client_error.hpp>

#include "http/message/characters.hpp"
#include "http/message/location.hpp"

namespace beck::http::detail {
namespace {

constexpr std::size_t key_max = 300;  // of "https://", a host of 255 bytes, and ":65535"

/// Writes the name of the origin of `of`, in lower case. Returns it.
std::string_view write_key(const url& of, char (&room)[key_max]) noexcept {
  char* at = room;
  const auto put = [&at](std::string_view text) {
    for (const char c : text) *at++ = lower(c);
  };
  put(of.is_https ? "https://" : "http://");
  if (of.kind == host_kind::ipv6) put("[");
  put(of.host);
  put(of.kind == host_kind::ipv6 ? "]:" : ":");
  put(std::to_string(of.port));
  return {room, static_cast<std::size_t>(at - room)};
}

bool is_redirect(http::status s) noexcept {
  return s == status::moved_permanently || s == status::found || s == status::see_other ||
         s == status::temporary_redirect || s == status::permanent_redirect;
}

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
    : pool_(std::move(of)), response_(pool_->bounds()) {
  set_url(url.substr(0, url::bytes_max + 1));
}

void client_exchange::set_url(std::string_view text) {
  url_text_.assign(text);
  url_error_ = parse_url(url_text_.view(), url_);
}

void client_exchange::set_target(std::string_view text) {
  const bool fits = text.size() <= url::bytes_max;
  if (fits && is_target(text, request_.method == method::options)) {
    request_.target = text;
  } else if (url_error_ == url_error::none) {
    url_error_ = fits ? url_error::bad_character : url_error::too_long;
  }
}

void client_exchange::require_not_begun() const {
  if (is_begun() || finishing_) throw std::logic_error("http: the head of the request was sent");
}

void client_exchange::take_for_finish() {
  if (finishing_) throw std::logic_error("http: the call was finished before");
  finishing_ = true;
}

task<error_code> client_exchange::run(exchange_ref self) {
  client_exchange& x = *self;
  const operation_turn turn(x, call_operation::finish);
  error_code ec;
  if (!turn.is_taken()) ec = error::already_started;  // a write is under way, which ends, too
  for (bool again = !ec; again;) {
    ec = co_await x.attempt();
    again = !ec && x.redirect(ec);
  }
  if (ec) {
    x.fail(ec);
  } else {
    x.pool_->counters().responses.add();
  }
  co_return ec;
}

/// One request and the head of its response.
task<error_code> client_exchange::attempt() {
  error_code ec = failed_;
  if (!ec && url_error_ != url_error::none) ec = client_error::bad_url;
  if (!ec && is_begun()) {
    ec = end_stream();
  } else if (!ec) {
    if (request_.kind == request_body_kind::chunked) {
      request_.kind = request_body_kind::none;  // no write has come so far as to connect
    }
    if (request_.kind == request_body_kind::length && request_.length != 0) {
      ec = client_error::wrong_length;
    } else {
      ec = co_await get_connection();
    }
    if (!ec) send_request();
  }
  if (ec) co_return ec;
  if (!is_sent()) ec = co_await wait_for_continue();
  if (!ec) ec = co_await receive_head();
  if (!may_retry(ec)) co_return ec;
  pool_->counters().retries.add();
  place at = connection_->surrender();
  connection_.reset();
  restart();
  ec = co_await make_connection(std::move(at));
  if (ec) co_return ec;
  send_request();
  if (!is_sent()) ec = co_await wait_for_continue();
  if (!ec) ec = co_await receive_head();
  co_return ec;
}

task<error_code> client_exchange::get_connection() {
  char room[key_max];
  const std::string_view key = write_key(url_, room);
  granted got;
  error_code ec = co_await pool_->acquire(key, got);
  if (!ec && (is_begun() || failed_)) ec = error::operation_aborted;  // by another operation
  if (ec) co_return ec;
  if (got.connection != nullptr) {
    connection_ = std::move(got.connection);
    co_return ec;
  }
  ec = co_await make_connection(std::move(got.room));
  co_return ec;
}

task<error_code> client_exchange::make_connection(place at) {
  failure_text_.clear();
  auto made = co_await pool_->connect(std::move(at), url_, failure_text_);
  if (!made.error() && (is_begun() || failed_)) {  // by another operation
    made.value_->close();
    co_return error::operation_aborted;
  }
  if (!made.error()) connection_ = std::move(made.value_);
  co_return made.error();
}

/// Parses what has come: see received_response::parse_head().
parse_status client_exchange::parse_head(error_code& ec) {
  client_connection& c = *connection_;
  const bool had_head = response_.has_head();
  const parse_status parsed =
      response_.parse_head(c, request_.method, !request_.upgrade.empty(), ec);
  if (!had_head && response_.has_head()) early_ = !is_sent() || c.is_sending();
  return parsed;
}

task<error_code> client_exchange::receive_head() {
  const std::shared_ptr<client_connection> c = connection_;
  std::int64_t left = 0;  // until the head is late; 0: the request is still being sent
  for (;;) {
    error_code ec;
    const parse_status parsed = parse_head(ec);
    if (parsed == parse_status::refused) co_return ec;
    if (parsed == parse_status::done) break;
    if (c->end()) co_return end_error();
    if (c->send_error() == client_error::send_late) co_return c->send_error();
    c->want_more();
    if (c->is_sending()) {  // which has a limit of its own
      auto waited = co_await c->received().wait();
      if (waited.error()) co_return waited.error();
      if (connection_ != c) co_return error::operation_aborted;  // by another operation
      continue;
    }
    if (left == 0) left = pool_->bounds().head_timeout.nanoseconds();
    const std::int64_t began = loop_time();
    auto waited = co_await timeout(c->received().wait(), duration(left));
    left -= loop_time() - began;
    if (waited.error() == error::timeout || (!waited.error() && left <= 0)) {
      co_return client_error::head_late;
    }
    if (waited.error()) co_return waited.error();
    if (connection_ != c) co_return error::operation_aborted;
  }
  static_cast<void>(decode());  // a body of no bytes gives the connection back
  co_return error_code();
}

error_code client_exchange::end_error() const noexcept {
  const client_connection& c = *connection_;
  if (c.end() != error::eof) return c.end();
  return response_.is_heard() ? client_error::cut_short : client_error::no_response;
}

/// Only a connection that was idle, and may have ended before the request reached the server.
bool client_exchange::may_retry(error_code ec) const noexcept {
  return ec && connection_ != nullptr && connection_->is_reused() && !response_.is_heard() &&
         connection_->end() && !connection_->is_closed() && !request_.is_stream() &&
         is_idempotent(request_.method);
}

void client_exchange::fail(error_code ec) noexcept {
  drop_connection();
  response_.fail();
  failed_ = ec;
}

/// Closes the connection of a call that has failed, and keeps what its stream says about that.
void client_exchange::drop_connection() noexcept {
  if (connection_ == nullptr) return;
  try {
    failure_text_ = std::string(connection_->stream().error_text());
  } catch (...) {
    failure_text_.clear();  // the code says enough
  }
  connection_->close();
  connection_.reset();
}

/// Resolves the Location of a redirect against what was asked for. Returns whether it is a URL.
bool client_exchange::resolve_location(std::string& to) const {
  const std::string location = encode_location(head().get(field::location));
  if (request_.target.empty() || request_.target == "*")
    return resolve_reference(url_, location, to) == url_error::none;
  std::string asked(url_.is_https ? "https://" : "http://");
  asked.append(url_.host_field).append(encode_location(request_.target));
  url base;
  return parse_url(asked, base) == url_error::none &&
         resolve_reference(base, location, to) == url_error::none;
}

/// Prepares the request that a redirect asks for. Returns false if the response is the result.
bool client_exchange::redirect(error_code& ec) {
  if (pool_->bounds().redirects == 0 || !is_redirect(head().status())) return false;
  if (!request_.upgrade.empty()) return false;  // its protocol is for this server
  const http::status s = head().status();
  const bool to_get =
      (s == status::see_other && request_.method != method::head) ||
      ((s == status::moved_permanently || s == status::found) && request_.method == method::post);
  if (!to_get && request_.is_stream()) return false;  // it cannot be sent again
  std::string text;
  url next;
  if (head().repeats(field::location) || !head().has(field::location) || !resolve_location(text) ||
      parse_url(text, next) != url_error::none) {
    return false;
  }
  if (url_.is_https && !next.is_https) return false;
  if (redirects_ == pool_->bounds().redirects) {
    ec = client_error::too_many_redirects;
    return false;
  }
  ++redirects_;
  if (!is_same_origin(url_, next)) {
    for (const field secret :
         {field::authorization, field::cookie, field::proxy_authorization, field::host}) {
      request_.fields.remove(name_of(secret));
    }
  }
  if (to_get) {
    request_.set_method(method::get, name_of(method::get));
    request_.kind = request_body_kind::none;
    request_.expects_continue = false;
    for (const field about_body : {field::content_type, field::content_encoding,
                                   field::content_language, field::content_location}) {
      request_.fields.remove(name_of(about_body));
    }
  }
  abandon();
  request_.target.clear();
  set_url(text);
  pool_->counters().redirects.add();
  restart();
  return true;
}

std::string client_exchange::error_text() const {
  std::string text;
  if (!failed_) return text;
  text.append(request_.method_name()).append(" ");
  if (url_error_ != url_error::none) {
    text.append(url_text_.view().substr(0, 200)).append(": ").append(failed_.message());
    return text.append(": ").append(text_of(url_error_));
  }
  char room[key_max];
  text.append(write_key(url_, room)).append(": ").append(failed_.message());
  if (!failure_text_.empty()) text.append(": ").append(failure_text_);
  return text;
}

taken_stream client_exchange::take_over() {
  if (!response_.is_upgraded() || connection_ == nullptr)
    throw std::logic_error("http: only a response with status 101 gives its stream away");
  taken_stream taken;
  taken.read_ahead.assign(connection_->input());
  taken.stream = connection_->release();
  connection_.reset();
  if (!response_.is_whole()) response_.set_whole();
  return taken;
}

}  // namespace beck::http::detail
