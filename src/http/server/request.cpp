// SPDX-License-Identifier: BSL-1.0
// The public classes for requests and exchanges, and the operations of requests, over the port that
// carries them.
#include <beck/http/request.hpp>

#include <utility>

#include <beck/http/exchange.hpp>
#include <beck/http/target.hpp>

#include "http/server/exchange_state.hpp"

namespace beck::http {
namespace detail {

exchange_state& state_of(const request& q) noexcept { return *q.state_; }

bool body_read::ready() {
  std::size_t bytes = 0;
  error_code ec;
  return from_->port->read_ready(to_, bytes, ec) && finish(ec, bytes);
}

void body_read::initiate(handler done) { from_->port->read(to_, std::move(done)); }

any_io_executor body_read::get_executor() const noexcept { return from_->port->executor(); }

bool client_wait::ready() {
  if (of_->handler.client_gone) return finish(error::already_started);
  return of_->port->client_left() && finish(error_code());
}

void client_wait::initiate(handler done) { of_->handler.wait_for_end(std::move(done)); }

void client_wait::cancel() noexcept { of_->handler.end_client_wait(error::operation_aborted); }

any_io_executor client_wait::get_executor() const noexcept { return of_->port->executor(); }

}  // namespace detail

bool request_body::is_whole() const noexcept { return from_->port->body_is_whole(); }

any_io_executor request_body::get_executor() const noexcept { return from_->port->executor(); }

request_body request::body() noexcept { return request_body(*state_); }

any_io_executor request::get_executor() const noexcept { return state_->port->executor(); }

std::string_view request::path() const noexcept {
  return split_target(target()).path.substr(state_->handler.route.raw_prefix());
}

std::string_view request::id() const noexcept { return id_of(*state_); }

std::string_view request::query() const noexcept { return split_target(target()).query; }

std::string_view request::param(std::string_view name) const noexcept {
  return state_->handler.route.get(name);
}

ip::tcp::endpoint request::peer() const noexcept { return state_->port->peer(); }

beck::detail::fixed_text<100> request::peer_name() const { return state_->port->peer_name(); }

ip::address request::client_address() const noexcept {
  return state_->port->client_address(*head_);
}

bool request::client_left() noexcept { return state_->port->client_left(); }

exchange::exchange(exchange&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)),
      request_(other.request_),
      response_(other.response_) {}

exchange& exchange::operator=(exchange&& other) noexcept {
  if (this == &other) return *this;
  if (state_ != nullptr) state_->port->return_exchange();
  state_ = std::exchange(other.state_, nullptr);
  request_ = other.request_;
  response_ = other.response_;
  return *this;
}

exchange::~exchange() {
  if (state_ != nullptr) state_->port->return_exchange();
}

any_io_executor exchange::get_executor() const noexcept { return state_->port->executor(); }

}  // namespace beck::http
