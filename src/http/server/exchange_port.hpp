// SPDX-License-Identifier: BSL-1.0
// The seam between an exchange and the version of HTTP that carries it: the classes request,
// response and exchange know nothing else of a connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <beck/base/buffer.hpp>
#include <beck/http/error_page.hpp>
#include <beck/http/head.hpp>
#include <beck/http/request.hpp>
#include <beck/http/response.hpp>

namespace beck::http::detail {

/// What carries the exchanges of one connection, or of one stream of it. Each function is that of
/// the public class which calls it, with the same errors. Thread: that of the connection.
class exchange_port {
 public:
  // --- the peer
  virtual const any_io_executor& executor() const noexcept = 0;
  virtual ip::tcp::endpoint peer() const noexcept = 0;
  virtual beck::detail::fixed_text<100> peer_name() const = 0;
  virtual ip::address client_address(const request_head& head) const noexcept = 0;
  /// Returns whether a layer, such as TLS, lies between the connection and its socket.
  virtual bool is_layered() const noexcept = 0;
  virtual bool client_left() noexcept = 0;
  /// Returns the place of a handler's object for this context; empty at first. `key`: its address.
  virtual std::shared_ptr<void>& local(const void* key) = 0;

  // --- the body of the request
  /// Takes bytes of the body that have arrived. Returns false if the reader has to wait.
  virtual bool read_ready(mutable_buffer to, std::size_t& bytes, error_code& ec) = 0;
  /// Receives bytes of the body, then calls `done`.
  virtual void read(mutable_buffer to, body_read::handler done) = 0;
  virtual bool body_is_whole() const noexcept = 0;
  /// Lowers the bound of the body, which a router inside the handler has found. Returns false if
  /// the body is too long.
  virtual bool lower_bound(std::uint64_t bytes_max) noexcept = 0;
  /// Responds to a request whose body is too long with an error page, and keeps the fields that are
  /// set. The connection, or the stream, ends with this response. Throws as response::fail().
  virtual void refuse_body() = 0;

  // --- the response
  /// Lets the program change an error page; see server::on_error_page(). Throws what its function
  /// throws.
  virtual void change_page(error_page& page) const = 0;
  virtual void send(std::string_view body) = 0;
  /// Takes a part of the body. Returns false if the handler has to wait for room.
  virtual bool write_ready(const_buffer data, std::size_t& bytes, error_code& ec) = 0;
  /// Takes a part of `data` once there is room, then calls `done`.
  virtual void wait_for_room(const_buffer data, response_write::handler done) noexcept = 0;
  virtual void cancel_room() noexcept = 0;
  /// Returns true if everything was sent, or with an error in `ec`; false if the handler has to
  /// wait.
  virtual bool flush_ready(error_code& ec) = 0;
  /// Calls `done` when everything was sent.
  virtual void wait_for_flush(response_flush::handler done) noexcept = 0;
  virtual void cancel_flush() noexcept = 0;
  /// Sends a small part of a file if it is in memory. Returns false if it has to be sent by
  /// send_file().
  virtual bool send_cached(file_object& from, std::uint64_t offset, std::uint64_t bytes,
                           error_code& ec) = 0;
  /// Sends a part of a file, then calls `done`.
  virtual void send_file(file_object& from, std::uint64_t offset, std::uint64_t bytes,
                         file_send::handler done) = 0;
  virtual task<io_result<tunnel>> take_over() = 0;

  // --- the handler
  /// Lowers the limit of the time that the handler may take, from now on; 0: keeps it. Throws
  /// std::bad_alloc.
  virtual void limit_time(duration after) = 0;

  // --- the exchange object
  /// Returns a share in what carries the exchange, so that it stays while an object owns that.
  virtual std::shared_ptr<void> share() = 0;
  /// Called when the object that owned the exchange is destroyed.
  virtual void return_exchange() noexcept = 0;

 protected:
  ~exchange_port() = default;
};

}  // namespace beck::http::detail
