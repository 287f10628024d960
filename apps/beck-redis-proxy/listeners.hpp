// SPDX-License-Identifier: BSL-1.0
//
// The sockets that the proxy listens on: TCP, a UNIX socket with its file, or both.
#pragma once

#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>
#include <cstdint>
#include <string>

#include "settings.hpp"

namespace beck_redis_proxy {

class listeners {
 public:
  /// Listens. Throws failure, which names the place.
  listeners(beck::io_context& context, const settings& asked);
  ~listeners();
  listeners(const listeners&) = delete;
  listeners& operator=(const listeners&) = delete;

  /// Closes the sockets and removes the file, unless another one has taken its place. Idempotent.
  void close();

  /// Returns the places, such as "tcp://127.0.0.1:6380 unix:///run/proxy".
  std::string places() const;
  /// Each is closed if the proxy does not listen there.
  beck::ip::tcp::acceptor& on_tcp() noexcept { return tcp_; }
  beck::local::stream_protocol::acceptor& on_local() noexcept { return local_; }

 private:
  void open_tcp(const beck::ip::tcp::endpoint& at);
  void open_local(const std::string& path);

  beck::ip::tcp::acceptor tcp_;
  beck::local::stream_protocol::acceptor local_;
  std::string path_;  // of the file; empty: none
  std::uint64_t device_ = 0;
  std::uint64_t number_ = 0;
};

}  // namespace beck_redis_proxy
