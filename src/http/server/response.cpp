// SPDX-License-Identifier: BSL-1.0
// The public class for responses, and its operations: checks every rule that does not need the
// connection. The port that carries the exchange writes.
#include <beck/http/response.hpp>

#include <stdexcept>
#include <string>
#include <utility>

#include <beck/http/cookie.hpp>

#include "http/server/exchange_state.hpp"
#include "http/server/response_fields.hpp"

namespace beck::http {
response& response::status(http::status s) { return status(number_of(s)); }

response& response::status(unsigned number) {
  to_->response.require_no_head();
  if (number < 200 || number > 599)
    throw std::invalid_argument("http: a status from 200 to 599, not " + std::to_string(number));
  to_->response.status = static_cast<http::status>(number);
  to_->response.touched = true;
  return *this;
}

http::status response::status() const noexcept { return to_->response.status; }

response& response::set(field f, std::string_view value) {
  to_->response.require_no_head();
  detail::set_field(to_->response.fields, f, value);
  to_->response.touched = true;
  return *this;
}

response& response::set(std::string_view name, std::string_view value) {
  to_->response.require_no_head();
  detail::set_field(to_->response.fields, to_field(name), name, value);
  to_->response.touched = true;
  return *this;
}

response& response::add(std::string_view name, std::string_view value) {
  to_->response.require_no_head();
  detail::add_field(to_->response.fields, to_field(name), name, value);
  to_->response.touched = true;
  return *this;
}

bool response::has(std::string_view name) const noexcept { return to_->response.fields.has(name); }

response& response::content_length(std::uint64_t bytes) {
  to_->response.require_no_head();
  to_->response.promise(bytes);
  to_->response.touched = true;
  return *this;
}

response& response::add_hook(const detail::head_hook& hook) {
  to_->response.require_no_head();
  to_->hooks.add(hook);
  return *this;
}

response& response::close() noexcept {
  to_->response.close = true;
  return *this;
}

void response::send(std::string_view body) { to_->port->send(body); }

void response::redirect(std::string_view to, unsigned number) {
  if (number != 301 && number != 302 && number != 303 && number != 307 && number != 308)
    throw std::invalid_argument("http: a redirect has the status 301, 302, 303, 307 or 308, not " +
                                std::to_string(number));
  status(number).set(field::location, to).send();
}

response& response::set_cookie(const cookie& made) {
  return add(name_of(field::set_cookie), made.text());
}

task<io_result<tunnel>> response::take_over() { return to_->port->take_over(); }

bool response::has_begun() const noexcept { return to_->response.has_begun(); }

any_io_executor response::get_executor() const noexcept { return to_->port->executor(); }

}  // namespace beck::http

namespace beck::http::detail {

void response_state::require_no_head() const {
  if (has_begun()) throw std::logic_error("http: the head of the response was sent already");
}

bool response_write::ready() {
  std::size_t bytes = 0;
  error_code ec;
  return to_->port->write_ready(data_, bytes, ec) && finish(ec, bytes);
}

void response_write::initiate(handler done) { to_->port->wait_for_room(data_, std::move(done)); }

void response_write::cancel() noexcept { to_->port->cancel_room(); }

any_io_executor response_write::get_executor() const noexcept { return to_->port->executor(); }

bool response_flush::ready() {
  error_code ec;
  return to_->port->flush_ready(ec) && finish(ec);
}

void response_flush::initiate(handler done) { to_->port->wait_for_flush(std::move(done)); }

void response_flush::cancel() noexcept { to_->port->cancel_flush(); }

any_io_executor response_flush::get_executor() const noexcept { return to_->port->executor(); }

bool file_send::ready() {
  error_code ec;
  return to_->port->send_cached(*from_, offset_, bytes_, ec) && finish(ec, ec ? 0 : bytes_);
}

void file_send::initiate(handler done) {
  to_->port->send_file(*from_, offset_, bytes_, std::move(done));
}

any_io_executor file_send::get_executor() const noexcept { return to_->port->executor(); }

}  // namespace beck::http::detail
