// SPDX-License-Identifier: BSL-1.0
// The public class for responses, and its operations: checks every rule that does not need the
// connection. response_side.cpp writes.
#include <beck/http/response.hpp>

#include <stdexcept>
#include <string>

#include "http/server/connection.hpp"

namespace beck::http {
namespace {

/// Refuses fields that the server sets itself.
void check_field(field f, std::string_view name) {
  if (f == field::content_length || f == field::transfer_encoding || f == field::connection ||
      f == field::date)
    throw std::invalid_argument("http: the server writes the field " + std::string(name));
}

void add_field(detail::response_state& response, field f, std::string_view name,
               std::string_view value) {
  check_field(f, name);
  if (f == field::other) {
    response.fields.add(name, value);
  } else {
    response.fields.add(f, name, value);
  }
  response.touched = true;
}

void set_field(detail::response_state& response, field f, std::string_view name,
               std::string_view value) {
  check_field(f, name);
  if (response.fields.may_have(f)) response.fields.remove(name);
  add_field(response, f, name, value);
}

}  // namespace

response& response::status(http::status s) { return status(number_of(s)); }

response& response::status(unsigned number) {
  to_->require_no_head();
  if (number < 200 || number > 599)
    throw std::invalid_argument("http: a status from 200 to 599, not " + std::to_string(number));
  to_->state().status = static_cast<http::status>(number);
  to_->state().touched = true;
  return *this;
}

http::status response::status() const noexcept { return to_->state().status; }

response& response::set(field f, std::string_view value) {
  to_->require_no_head();
  set_field(to_->state(), f, name_of(f), value);
  return *this;
}

response& response::set(std::string_view name, std::string_view value) {
  to_->require_no_head();
  set_field(to_->state(), to_field(name), name, value);
  return *this;
}

response& response::add(std::string_view name, std::string_view value) {
  to_->require_no_head();
  add_field(to_->state(), to_field(name), name, value);
  return *this;
}

response& response::content_length(std::uint64_t bytes) {
  to_->require_no_head();
  to_->state().promise(bytes);
  to_->state().touched = true;
  return *this;
}

response& response::close() noexcept {
  to_->state().close = true;
  return *this;
}

void response::send(std::string_view body) { to_->send(body); }

bool response::has_begun() const noexcept { return to_->state().has_begun(); }

any_io_executor response::get_executor() const noexcept { return to_->parent().executor(); }

}  // namespace beck::http

namespace beck::http::detail {

bool response_write::ready() {
  std::size_t bytes = 0;
  error_code ec;
  if (to_->waits_for_room()) return finish(error::already_started, 0);
  return to_->write_ready(data_, bytes, ec) && finish(ec, bytes);
}

void response_write::initiate(handler done) { to_->wait_for_room(data_, std::move(done)); }

void response_write::cancel() noexcept { to_->cancel_room(); }

any_io_executor response_write::get_executor() const noexcept { return to_->parent().executor(); }

bool response_flush::ready() {
  error_code ec;
  if (to_->waits_for_flush()) return finish(error::already_started);
  return to_->flush_ready(ec) && finish(ec);
}

void response_flush::initiate(handler done) { to_->wait_for_flush(std::move(done)); }

void response_flush::cancel() noexcept { to_->cancel_flush(); }

any_io_executor response_flush::get_executor() const noexcept { return to_->parent().executor(); }

}  // namespace beck::http::detail
