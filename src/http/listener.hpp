// SPDX-License-Identifier: BSL-1.0
// The places that a server listens on, and the sockets that a worker has for them: ports of TCP,
// of which each context has a socket of its own, and sockets that all contexts share, because they
// have a path or were inherited.
#pragma once

#include <memory>
#include <variant>

#include <beck/io/stream_layer.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>

#include "http/posix_sockets.hpp"

namespace beck::http::detail {

/// A place to listen on.
struct listening_place {
  ip::tcp::endpoint at;
  local::stream_protocol::endpoint path;
  std::weak_ptr<socket_file> file;  ///< of `path`, while a context listens there
  unique_fd inherited;              ///< a listening socket
  stream_layer* layer = nullptr;    ///< of its connections; nullptr: none
  bool is_local = false;            ///< of UNIX: a path, or inherited
  bool any_family = false;          ///< IPv4 instead of IPv6, on a machine without that
};

/// A listening socket of one worker. Thread: that of the worker.
class listener {
 public:
  /// Listens at `where`, and completes it: the port, the file. Throws io_error.
  listener(const any_io_executor& executor, listening_place& where, bool share_port);

  /// Accepts into a closed socket.
  beck::detail::accept_into_operation accept(beck::detail::stream_object& into);
  /// Stops to listen; the last one of a path removes its file.
  void close();
  stream_layer* layer() const noexcept { return layer_; }
  bool is_local() const noexcept { return socket_.index() == 1; }

 private:
  void open(const ip::tcp::endpoint& at, bool share_port);
  void open_path(listening_place& where);
  template <class Acceptor>
  void adopt(Acceptor& acceptor, int fd);

  std::variant<ip::tcp::acceptor, local::stream_protocol::acceptor> socket_;
  std::shared_ptr<socket_file> file_;
  stream_layer* layer_;
};

}  // namespace beck::http::detail
