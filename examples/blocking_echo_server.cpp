// SPDX-License-Identifier: BSL-1.0
//
// A TCP server that sends back the data that it receives, one connection after another; echo_server
// is the same with coroutines, and docs/blocking-to-coroutines.md has the difference.
//   blocking_echo_server [PORT]        no port, or 0: any free one; it is printed
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>
#include <cstdio>

#include "number.hpp"

using beck::ip::tcp;

namespace {

void session(tcp::socket socket) {
  char data[16384];
  beck::error_code error;
  for (;;) {
    const std::size_t size = socket.read_some(beck::buffer(data), error);
    if (error) return;  // the client has closed, or the connection is lost
    beck::write(socket, beck::buffer(data, size), error);
    if (error) return;
  }
}

void serve(tcp::acceptor acceptor) {
  for (;;) {
    tcp::socket socket = acceptor.accept();
    socket.set_option(tcp::no_delay(true));
    session(std::move(socket));
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto port = beck::ip::make_port(argc > 1 ? example::number(argv[1]) : 0);
    beck::io_context context;
    tcp::acceptor acceptor(context, tcp::endpoint(tcp::v4(), port));
    std::printf("listening on port %d\n", acceptor.local_endpoint().port());
    std::fflush(stdout);
    serve(std::move(acceptor));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "blocking_echo_server: %s\n", e.what());
    return 1;
  }
}
