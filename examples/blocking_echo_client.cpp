// SPDX-License-Identifier: BSL-1.0
//
// Sends lines to an echo server, one at a time, and checks the answers. It blocks; echo_client is
// the same with a coroutine, and docs/blocking-to-coroutines.md has the difference.
//   blocking_echo_client ADDRESS PORT [COUNT]
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>
#include <cstdio>
#include <string>

#include "number.hpp"

using beck::ip::tcp;

namespace {

void talk(beck::io_context& context, tcp::endpoint server, long count) {
  tcp::socket socket(context);
  socket.connect(server);
  for (long i = 0; i < count; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    std::string answer(line.size(), '\0');
    beck::write(socket, beck::buffer(line));
    beck::read(socket, beck::buffer(answer));
    if (answer != line) throw std::runtime_error("the answer differs from what was sent");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: blocking_echo_client ADDRESS PORT [COUNT]\n");
    return 2;
  }
  try {
    const auto port = beck::ip::make_port(example::number(argv[2]));
    const tcp::endpoint server(beck::ip::make_address(argv[1]), port);
    const long count = argc > 3 ? example::number(argv[3]) : 10;
    beck::io_context context;
    talk(context, server, count);
    std::printf("%ld lines came back\n", count);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "blocking_echo_client: %s\n", e.what());
    return 1;
  }
}
