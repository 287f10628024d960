// SPDX-License-Identifier: BSL-1.0
// Each function is one operation of the socket. The coroutines hold nothing but that operation, so
// a stream that waits costs one small frame.
#include <beck/net/connect_race.hpp>
#include <beck/net/connect_stream.hpp>
#include <beck/net/socket_stream.hpp>

#include <algorithm>
#include <cerrno>
#include <string>

#include "io/loop/io_loop.hpp"
#include "io/op/readiness.hpp"

namespace beck {

void socket_stream::set_up() noexcept {
  error_code closed;  // every later call reports that
  socket_.non_blocking(true, closed);
}

void socket_stream::expect_data() noexcept {
  detail::descriptor& d = *socket_.slot();
  detail::direction& q = d.queue[detail::direction_in];
  if (d.loop->runs_alone() && q.ready == detail::readiness::no) detail::note_perhaps(q);
}

task<io_result<buffer_lease>> socket_stream::receive() {
  co_return co_await async_receive(socket_);
}

task<io_result<std::size_t>> socket_stream::read_some(mutable_buffer to) {
  co_return co_await socket_.async_read_some(to);
}

task<io_result<std::size_t>> socket_stream::write_some(const_buffer_span parts) {
  co_return co_await socket_.async_write_some(parts);
}

std::size_t socket_stream::write_now(const_buffer_span parts, error_code& ec) noexcept {
  if (parts.end() - parts.begin() == 1) return socket_.write_some(*parts.begin(), ec);
  return socket_.write_some(parts, ec);
}

std::size_t socket_stream::write_last(const_buffer_span parts, error_code& ec) noexcept {
  const detail::descriptor& d = *socket_.slot();
  constexpr std::size_t parts_max = detail::vector_operation::parts_max;
  detail::io_vector vectors[parts_max];
  std::size_t count = 0;
  for (const const_buffer& part : parts) {
    if (part.size() == 0) continue;
    if (count == parts_max) break;
    vectors[count++] = {const_cast<void*>(part.data()), part.size()};
  }
  std::ptrdiff_t sent = 0;
  if (count != 0) sent = d.fd < 0 ? -EBADF : d.loop->sys().send_more(d.fd, vectors, count);
  ec = detail::make_error(static_cast<int>(std::min<std::ptrdiff_t>(sent, 0)));
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(sent, 0));
}

task<io_result<>> socket_stream::finish() {
  error_code ec;
  detail::socket_calls::shutdown(*socket_.slot(), socket_base::shutdown_send, ec);
  co_return io_result<>(ec);
}

}  // namespace beck

namespace beck::ip {

task<io_result<owned_stream>> functions::connect_stream(any_io_executor on, std::string_view host,
                                                        std::uint16_t port) {
  io_result<owned_stream> result;
  tcp::socket socket(on);
  error_code ec;
  const address address = make_address(host, ec);
  if (ec) {
    const std::string service = std::to_string(port);
    const happy_eyeballs how;
    auto connected = co_await async_connect(socket, host, service, how);
    ec = connected.error();
  } else {
    const tcp::endpoint at(address, port);
    auto connected = co_await socket.async_connect(at);
    ec = connected.error();
  }
  if (!ec) socket.set_option(tcp::no_delay(true), ec);
  result.error_ = ec;
  if (!ec) result.value_ = owned_stream(new socket_stream(std::move(socket)));
  co_return result;
}

}  // namespace beck::ip
