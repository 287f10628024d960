// SPDX-License-Identifier: BSL-1.0
// Which part of a connection does what an exchange asks for.
#include "http/server/connection_port.hpp"

#include <utility>

#include <beck/coro/co_spawn.hpp>

#include "http/server/connection.hpp"
#include "http/server/worker.hpp"

namespace beck::http::detail {

// --- the peer

const any_io_executor& connection_port::executor() const noexcept { return connection_.executor(); }

ip::tcp::endpoint connection_port::peer() const noexcept { return connection_.peer; }

beck::detail::fixed_text<100> connection_port::peer_name() const {
  return connection_.stream().peer_name();
}

ip::address connection_port::client_address(const request_head& head) const noexcept {
  return connection_.server_worker().server().client_address(head, connection_.peer.address(),
                                                             connection_.is_local);
}

bool connection_port::is_layered() const noexcept { return !connection_.stream().is_plain(); }

bool connection_port::client_left() noexcept { return connection_.handlers().client_left(); }

std::shared_ptr<void>& connection_port::local(const void* key) {
  return connection_.server_worker().local(key);
}

// --- the body of the request

bool connection_port::read_ready(mutable_buffer to, std::size_t& bytes, error_code& ec) {
  return connection_.requests().read_ready(to, bytes, ec);
}

void connection_port::read(mutable_buffer to, body_read::handler done) {
  co_spawn(executor(), request_side::read_body(connection_.shared_from_this(), to),
           under_way_completion<std::size_t>(connection_, std::move(done)));
}

bool connection_port::body_is_whole() const noexcept {
  return connection_.requests().body_is_whole();
}

bool connection_port::lower_bound(std::uint64_t bytes_max) noexcept {
  return connection_.requests().lower_bound(bytes_max);
}

void connection_port::refuse_body() { connection_.refuse_body(); }

// --- the response

void connection_port::change_page(error_page& page) const {
  connection_.server_worker().server().change_page(page);
}

void connection_port::send(std::string_view body) { connection_.responses().send(body); }

bool connection_port::write_ready(const_buffer data, std::size_t& bytes, error_code& ec) {
  response_side& responses = connection_.responses();
  if (!responses.waits_for_room()) return responses.write_ready(data, bytes, ec);
  ec = error::already_started;
  return true;
}

void connection_port::wait_for_room(const_buffer data, response_write::handler done) noexcept {
  connection_.responses().wait_for_room(data, std::move(done));
}

void connection_port::cancel_room() noexcept { connection_.responses().cancel_room(); }

bool connection_port::flush_ready(error_code& ec) {
  response_side& responses = connection_.responses();
  if (!responses.waits_for_flush()) return responses.flush_ready(ec);
  ec = error::already_started;
  return true;
}

void connection_port::wait_for_flush(response_flush::handler done) noexcept {
  connection_.responses().wait_for_flush(std::move(done));
}

void connection_port::cancel_flush() noexcept { connection_.responses().cancel_flush(); }

bool connection_port::send_cached(file_object& from, std::uint64_t offset, std::uint64_t bytes,
                                  error_code& ec) {
  return connection_.responses().send_cached(from, offset, bytes, ec);
}

void connection_port::send_file(file_object& from, std::uint64_t offset, std::uint64_t bytes,
                                file_send::handler done) {
  co_spawn(executor(),
           response_side::send_file(connection_.shared_from_this(), from, offset, bytes),
           under_way_completion<std::uint64_t>(connection_, std::move(done)));
}

task<io_result<tunnel>> connection_port::take_over() { return connection_.take_over(); }

// --- the handler

void connection_port::limit_time(duration after) { connection_.handlers().limit_time(after); }

// --- the exchange object

task<io_result<tunnel>> ended_port::take_over() {
  co_return io_result<tunnel>(make_error_code(std::errc::broken_pipe), tunnel());
}

std::shared_ptr<void> connection_port::share() { return connection_.shared_from_this(); }

void connection_port::return_exchange() noexcept { connection_.handlers().return_exchange(); }

}  // namespace beck::http::detail
