// SPDX-License-Identifier: BSL-1.0
// A path cannot be bound twice, so its socket is opened once and duplicated for each further
// context. The kernel wakes all contexts, and one gets the connection.
#include "http/server/listener.hpp"

#include <utility>

#include <beck/io/io_context.hpp>

namespace beck::http::detail {
namespace {

/// Binds and listens. The lock keeps another server from taking this socket for a dead one before
/// it listens, and from replacing the same dead one. Throws io_error without the lock; it names the
/// lock's file.
void listen_on_path(local::stream_protocol::acceptor& acceptor,
                    const local::stream_protocol::endpoint& at, error_code& ec) {
  const path_lock lock(at);
  if (lock.error()) throw io_error(lock.error(), "listen", lock.name());
  acceptor.bind(at, ec);
  if (ec == std::errc::address_in_use && socket_file::remove_stale(at)) acceptor.bind(at, ec);
  if (!ec) acceptor.listen(socket_base::max_listen_connections, ec);
}

}  // namespace

listener::listener(const any_io_executor& executor, listening_place& where, bool share_port)
    : socket_(std::in_place_index<0>, executor),
      layer_(where.layer),
      is_shared_(static_cast<bool>(where.inherited)) {
  if (where.is_local) socket_.emplace<1>(executor);
  if (where.inherited) {
    if (where.is_local) {
      adopt(std::get<1>(socket_), where.inherited.get());
    } else {
      adopt(std::get<0>(socket_), where.inherited.get());
      where.at = std::get<0>(socket_).local_endpoint();
    }
  } else if (where.is_local) {
    open_path(where);
  } else {
    open(where.at, share_port);
    where.at = std::get<0>(socket_).local_endpoint();
  }
}

void listener::open(const ip::tcp::endpoint& at, bool share_port) {
  ip::tcp::acceptor& acceptor = std::get<0>(socket_);
  acceptor.open(at.protocol());
  acceptor.set_option(socket_base::reuse_address(true));
  if (share_port) acceptor.set_option(socket_base::reuse_port(true));
  acceptor.set_option(ip::tcp::no_delay(true));  // accepted sockets inherit it
  acceptor.bind(at);
  acceptor.listen();
}

void listener::open_path(listening_place& where) {
  auto& acceptor = std::get<1>(socket_);
  file_ = where.file.lock();
  if (file_ != nullptr) return adopt(acceptor, file_->fd());
  acceptor.open(local::stream_protocol());
  const bool simulated =
      beck::detail::socket_calls::context_of(*acceptor.slot_to_open()).backend_in_use() ==
      backend::sim;
  error_code ec;
  if (simulated) {
    acceptor.bind(where.path, ec);
    if (!ec) acceptor.listen(socket_base::max_listen_connections, ec);
  } else {
    listen_on_path(acceptor, where.path, ec);
  }
  if (ec) {
    const auto text = where.path.to_text();
    throw io_error(ec, "listen", std::string_view(text.data(), text.size()));
  }
  if (simulated) return;
  file_ = std::make_shared<socket_file>(acceptor.native_handle(), where.path);
  where.file = file_;
}

template <class Acceptor>
void listener::adopt(Acceptor& acceptor, int fd) {
  unique_fd copy = duplicate_socket(fd);
  acceptor.assign(typename Acceptor::protocol_type::endpoint().protocol(), copy.get());
  static_cast<void>(copy.release());
}

beck::detail::accept_into_operation listener::accept(beck::detail::stream_object& into,
                                                     ip::tcp::endpoint& peer) {
  if (is_local()) return std::get<1>(socket_).async_accept(into);
  return std::get<0>(socket_).async_accept(into, peer);
}

error_code listener::accept_waiting(beck::detail::stream_object& into, ip::tcp::endpoint& peer) {
  error_code ec;
  std::visit([&](auto& acceptor) { acceptor.accept(into, ec); }, socket_);
  if (ec || is_local()) return ec;
  error_code gone;  // ignored: the first read reports it
  std::size_t bytes = ip::tcp::endpoint::capacity();
  beck::detail::socket_calls::remote_name(*into.slot(), peer.data(), bytes, gone);
  if (!gone) peer.resize(bytes);
  return ec;
}

void listener::begin_close() {
  file_.reset();
  error_code ec;  // ignored: both calls work on an open socket
  std::visit(
      [&ec](auto& acceptor) {
        acceptor.non_blocking(true, ec);
        acceptor.cancel(ec);
      },
      socket_);
  if (is_shared_ || is_local()) return;
  ip::tcp::acceptor& acceptor = std::get<0>(socket_);
  refuses_new_ = refuse_new_connections(acceptor.native_handle());
}

void listener::close() {
  std::visit([](auto& acceptor) { acceptor.close(); }, socket_);
  file_.reset();
}

}  // namespace beck::http::detail
