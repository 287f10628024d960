// SPDX-License-Identifier: BSL-1.0
// The exchanges of a connection of HTTP/1.1, as request, response and exchange see them: one after
// the other.
#pragma once

#include "http/server/exchange_port.hpp"

namespace beck::http::detail {

class connection;

/// Passes each call to the part of the connection that does it.
class connection_port : public exchange_port {
 public:
  explicit connection_port(connection& of) noexcept : connection_(of) {}

  const any_io_executor& executor() const noexcept override;
  ip::tcp::endpoint peer() const noexcept override;
  beck::detail::fixed_text<100> peer_name() const override;
  ip::address client_address(const request_head& head) const noexcept override;
  bool is_layered() const noexcept override;
  bool client_left() noexcept override;
  std::shared_ptr<void>& local(const void* key) override;

  bool read_ready(mutable_buffer to, std::size_t& bytes, error_code& ec) override;
  void read(mutable_buffer to, body_read::handler done) override;
  bool body_is_whole() const noexcept override;
  bool lower_bound(std::uint64_t bytes_max) noexcept override;
  void refuse_body() override;

  void change_page(error_page& page) const override;
  void send(std::string_view body) override;
  bool write_ready(const_buffer data, std::size_t& bytes, error_code& ec) override;
  void wait_for_room(const_buffer data, response_write::handler done) noexcept override;
  void cancel_room() noexcept override;
  bool flush_ready(error_code& ec) override;
  void wait_for_flush(response_flush::handler done) noexcept override;
  void cancel_flush() noexcept override;
  bool send_cached(file_object& from, std::uint64_t offset, std::uint64_t bytes,
                   error_code& ec) override;
  void send_file(file_object& from, std::uint64_t offset, std::uint64_t bytes,
                 file_send::handler done) override;
  task<io_result<tunnel>> take_over() override;

  void limit_time(duration after) override;

  std::shared_ptr<void> share() override;
  void return_exchange() noexcept override;

 protected:
  ~connection_port() = default;

 private:
  connection& connection_;
};

/// The port of the present exchange.
class present_port final : public connection_port {
 public:
  using connection_port::connection_port;
};

/// The port of an exchange object that the program has kept beyond the end of its exchange: nothing
/// is read or sent any more.
class ended_port final : public connection_port {
 public:
  using connection_port::connection_port;

  bool client_left() noexcept override { return true; }
  bool read_ready(mutable_buffer, std::size_t& bytes, error_code& ec) override {
    bytes = 0;
    return fail(ec, std::errc::connection_reset);
  }
  bool body_is_whole() const noexcept override { return false; }
  bool lower_bound(std::uint64_t) noexcept override { return true; }
  void refuse_body() override {}
  void change_page(error_page&) const override {}
  void send(std::string_view) override {}
  bool write_ready(const_buffer, std::size_t& bytes, error_code& ec) override {
    bytes = 0;
    return fail(ec, std::errc::broken_pipe);
  }
  bool flush_ready(error_code& ec) override { return fail(ec, std::errc::broken_pipe); }
  bool send_cached(file_object&, std::uint64_t, std::uint64_t, error_code& ec) override {
    return fail(ec, std::errc::broken_pipe);
  }
  task<io_result<tunnel>> take_over() override;
  void limit_time(duration) override {}

 private:
  static bool fail(error_code& ec, std::errc why) {
    ec = make_error_code(why);
    return true;
  }
};

}  // namespace beck::http::detail
