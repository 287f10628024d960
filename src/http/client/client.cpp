// SPDX-License-Identifier: BSL-1.0
// The public classes of a client: they check arguments, and start the coroutines of an exchange on
// the client's context.
#include <beck/http/client.hpp>

#include <algorithm>
#include <exception>
#include <iterator>
#include <stdexcept>

#include "coro/task_completion.hpp"
#include "http/client/client_exchange.hpp"
#include "http/message/characters.hpp"

namespace beck::http {
namespace detail {
namespace {

using beck::detail::failure_code;
using beck::detail::task_completion;

/// As task_completion, for a call: passes the response, which holds the exchange.
class pass_response {
 public:
  pass_response(call_finish::handler done, exchange_ref of) noexcept
      : done_(std::move(done)), of_(std::move(of)) {}
  using executor_type = any_io_executor;
  using cancellation_slot_type = cancellation_slot;
  executor_type get_executor() const noexcept { return done_.get_executor(); }
  cancellation_slot get_cancellation_slot() const noexcept { return done_.get_cancellation_slot(); }
  void operator()(const std::exception_ptr& failed, error_code ec) {
    if (failed) {
      ec = failure_code(failed);
      of_->fail(ec);
    }
    done_(ec, client_response(std::move(of_)));
  }

 private:
  call_finish::handler done_;
  exchange_ref of_;
};

/// Refuses fields that the client sets itself.
void check_name(std::string_view name) {
  constexpr field own[] = {field::content_length,  field::transfer_encoding,
                           field::connection,      field::keep_alive,
                           field::expect,          field::te,
                           field::trailer,         field::upgrade,
                           field::proxy_connection};
  const field f = to_field(name);
  if (std::find(std::begin(own), std::end(own), f) != std::end(own))
    throw std::invalid_argument("http: the client writes the field " + std::string(name));
}

std::shared_ptr<client_pool> make_pool(const any_io_executor& executor,
                                       const client_options& limits) {
  if (executor.table()->concurrent)
    throw std::logic_error("http: a client needs a context for one thread; use one for each");
  return std::make_shared<client_pool>(executor, limits);
}

exchange_ref make_exchange(std::shared_ptr<client_pool> of, method m, std::string_view url) {
  exchange_ref made(new client_exchange(std::move(of), url));
  made->open_request().set_method(m, name_of(m));
  return made;
}

call_finish finish(exchange_ref of) {
  of->take_for_finish();
  return call_finish(std::move(of));
}

}  // namespace

any_io_executor response_read::get_executor() const noexcept { return from_->executor(); }

bool response_read::ready() {
  std::size_t bytes = 0;
  error_code ec;
  if (from_->is_busy()) return finish(beck::error::already_started, 0);
  return from_->read_ready(to_, bytes, ec) && finish(ec, bytes);
}

void response_read::initiate(handler done) {
  const any_io_executor executor = from_->executor();
  co_spawn(executor, client_exchange::read(from_, to_), task_completion(std::move(done)));
}

any_io_executor response_read_all::get_executor() const noexcept { return from_->executor(); }

void response_read_all::initiate(handler done) {
  const any_io_executor executor = from_->executor();
  co_spawn(executor, client_exchange::read_all(from_, limit_), task_completion(std::move(done)));
}

void note_caller(const exchange_ref& of, const beck::detail::scope& environment) noexcept {
  of->note_caller(environment);
}

any_io_executor call_write::get_executor() const noexcept { return of_->executor(); }

bool call_write::ready() {
  std::size_t bytes = 0;
  error_code ec;
  if (of_->is_busy()) return finish(beck::error::already_started, 0);
  return of_->write_ready(data_, bytes, ec) && finish(ec, bytes);
}

void call_write::initiate(handler done) {
  const any_io_executor executor = of_->executor();
  co_spawn(executor, client_exchange::write(of_, data_), task_completion(std::move(done)));
}

any_io_executor call_finish::get_executor() const noexcept { return of_->executor(); }

void call_finish::initiate(handler done) {
  const any_io_executor executor = of_->executor();
  co_spawn(executor, client_exchange::run(of_), pass_response(std::move(done), of_));
}

}  // namespace detail

// --- response

bool response_body::is_whole() const noexcept { return of_->response().is_whole(); }

any_io_executor response_body::get_executor() const noexcept { return of_->executor(); }

client_response& client_response::operator=(client_response&& other) noexcept {
  const client_response old(std::move(*this));
  of_ = std::move(other.of_);
  return *this;
}

client_response::~client_response() {
  if (of_) of_->abandon();
}

client_response::operator bool() const noexcept { return of_ && of_->response().has_head(); }

const response_head& client_response::head() const noexcept {
  BECK_ASSERT(*this, "a response without a head was asked for it");
  return of_->response().head();
}

std::string_view client_response::url() const noexcept { return of_->request().url_text.view(); }

taken_stream client_response::take_over() { return of_->take_over(); }

std::string client_response::error_text() const { return of_ ? of_->error_text() : std::string(); }

// --- call

call::call(client& by, http::method m, std::string_view url)
    : of_(detail::make_exchange(by.state_->pool, m, url)) {
  if (m == method::connect || m == method::trace || m == method::other)
    throw std::invalid_argument("http: a client does not send the method " +
                                std::string(name_of(m)));
}

call::call(client& by, std::string_view method, std::string_view url)
    : of_(detail::make_exchange(by.state_->pool, to_method(method), url)) {
  const http::method known = to_method(method);
  if (!detail::is_token(method) || method.size() > 24 || known == http::method::connect ||
      known == http::method::trace)
    throw std::invalid_argument("http: a client does not send the method \"" +
                                std::string(method.substr(0, 100)) + '"');
  of_->open_request().set_method(known, method);
}

call::~call() {
  if (of_ && !of_->is_finishing()) of_->abandon();
}

call& call::set(field f, std::string_view value) { return set(name_of(f), value); }

call& call::set(std::string_view name, std::string_view value) {
  detail::client_request& request = of_->open_request();
  detail::check_name(name);
  request.fields.remove(name);
  request.fields.add(name, value);
  return *this;
}

call& call::add(std::string_view name, std::string_view value) {
  detail::client_request& request = of_->open_request();
  detail::check_name(name);
  request.fields.add(name, value);
  return *this;
}

call& call::content_length(std::uint64_t bytes) {
  detail::client_request& request = of_->open_request();
  request.kind = detail::request_body_kind::length;
  request.length = bytes;
  return *this;
}

call& call::expect_continue() {
  of_->open_request().expects_continue = true;
  return *this;
}

call& call::upgrade(std::string_view protocol) {
  detail::client_request& request = of_->open_request();
  if (protocol.empty() || !detail::is_field_value(protocol))
    throw std::invalid_argument("http: not a protocol: \"" + std::string(protocol) + '"');
  request.upgrade = protocol;
  return *this;
}

call& call::target(std::string_view text) {
  of_->open_request().set_target(text);
  return *this;
}

call& call::time(duration limit) {
  of_->open_request().time_limit = limit;
  return *this;
}

call& call::body_limit(std::uint64_t bytes) {
  of_->open_request().response_bytes_max = bytes;
  return *this;
}

call& call::close() {
  of_->open_request().closes = true;
  return *this;
}

detail::call_finish call::async_finish() { return detail::finish(of_); }

detail::call_finish call::async_finish(const_buffer body) {
  detail::client_request& request = of_->open_request();
  request.kind = detail::request_body_kind::whole;
  request.body = body;
  return detail::finish(of_);
}

any_io_executor call::get_executor() const noexcept { return of_->executor(); }

// --- client

client::client(const any_io_executor& executor, const client_options& limits)
    : state_(new detail::client_handle{detail::make_pool(executor, limits)}) {}

client::~client() {
  state_->pool->close();
  delete state_;
}

void client::secure(stream_layer& with) noexcept { state_->pool->secure(with); }

void client::through(const proxies& by) { state_->pool->through(*by.rules_); }

void client::prepare_with(const detail::callback<detail::call_preparation&>& function) {
  state_->pool->prepare_with(function);
}

void client::report_to(const detail::callback<const call_record&>& function) {
  state_->pool->report_to(function);
}

void client::connect_with(connector& how) noexcept { state_->pool->connect_with(how); }

detail::call_finish client::async_get(std::string_view url) {
  return detail::finish(detail::make_exchange(state_->pool, method::get, url));
}

detail::call_finish client::async_head(std::string_view url) {
  return detail::finish(detail::make_exchange(state_->pool, method::head, url));
}

detail::call_finish client::async_delete(std::string_view url) {
  return detail::finish(detail::make_exchange(state_->pool, method::delete_, url));
}

detail::call_finish client::async_post(std::string_view url, std::string_view content_type,
                                       const_buffer body) {
  call made(*this, method::post, url);
  return made.set(field::content_type, content_type).async_finish(body);
}

detail::call_finish client::async_put(std::string_view url, std::string_view content_type,
                                      const_buffer body) {
  call made(*this, method::put, url);
  return made.set(field::content_type, content_type).async_finish(body);
}

void client::close_idle() noexcept { state_->pool->close_idle(); }

client_stats client::stats() const noexcept { return state_->pool->stats(); }

any_io_executor client::get_executor() const noexcept { return state_->pool->executor(); }

}  // namespace beck::http
