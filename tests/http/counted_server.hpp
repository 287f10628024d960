// SPDX-License-Identifier: BSL-1.0
// A server on the real kernel whose system calls are counted, and peers that are blocking sockets
// of this thread, so that everything counted is the server's.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <beck/http/server.hpp>
#include <beck/io/stream_layer.hpp>

#include "http/counting_system.hpp"
#include "support/conformance.hpp"
#include "support/context_options.hpp"
#include "support/context_seam.hpp"

namespace beck::http::test {

class counted_server {
 public:
  template <class Handler>
  explicit counted_server(Handler handler, const limits& most = limits(),
                          stream_layer* layer = nullptr)
      : ctx(context_options()), server(std::move(handler), most) {
    beck::testing::context_seam::replace_system(ctx, std::make_unique<counting_system>(calls));
    const ip::tcp::endpoint here(ip::address_v4::loopback(), 0);
    if (layer != nullptr) {
      server.listen(here, *layer);
    } else {
      server.listen(here);
    }
    server.serve().start(ctx, [](const std::exception_ptr&) {});
    while (server.endpoint().port() == 0) ctx.poll();
    for (int i = 0; i < 10; ++i) ctx.poll();
  }
  ~counted_server() {
    for (const int fd : peers) ::close(fd);
  }
  counted_server(const counted_server&) = delete;
  counted_server& operator=(const counted_server&) = delete;

  /// Connects a peer.
  int connect() {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    peers.push_back(fd);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(server.endpoint().port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
    return fd;
  }
  static void send(int fd, const std::string& text) {
    REQUIRE(::send(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  }

  call_counts calls;
  io_context ctx;
  http::server server;
  std::vector<int> peers;
};

}  // namespace beck::http::test
