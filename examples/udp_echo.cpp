// SPDX-License-Identifier: BSL-1.0
//
// A UDP server that sends every datagram back: one system call receives up to 64 of
// them, and one sends the answers.
//   udp_echo [PORT]        no port, or 0: any free one; it is printed
#include <beck/coro/co_spawn.hpp>
#include <beck/net/datagram_batch.hpp>
#include <beck/net/udp.hpp>
#include <cstdio>
#include <vector>

#include "number.hpp"

using beck::ip::udp;

namespace {

constexpr std::size_t batch_size = 64;
constexpr std::size_t datagram_bytes_max = 2048;

// The memory of the batches is allocated once, in the frame of this coroutine.
beck::task<> serve(udp::socket socket) {
  std::vector<char> memory(batch_size * datagram_bytes_max);
  udp::receive_batch<batch_size> requests(beck::buffer(memory), datagram_bytes_max);
  udp::send_batch<batch_size> answers;
  for (;;) {
    const auto [error, count] = co_await socket.async_receive_many(requests);
    if (error == beck::error::operation_aborted) co_return;
    if (error) continue;  // it concerns one datagram; the socket is still usable
    answers.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const auto request = requests[i];
      if (request.truncated()) continue;
      // The answer comes from the address that was asked: a host may have several.
      answers.add(request.data(), request.sender()).source(request.destination());
    }
    while (answers.size() != 0) {
      const auto [send_error, sent] = co_await socket.async_send_many(answers);
      if (send_error == beck::error::operation_aborted) co_return;
      answers.discard(send_error ? sent + 1 : sent);  // drops an answer that failed
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto port = beck::ip::make_port(argc > 1 ? example::number(argv[1]) : 0);
    beck::io_context context;
    udp::socket socket(context, udp::endpoint(udp::v4(), port));
    socket.set_option(beck::ip::receive_packet_info(1));
    std::printf("listening on port %d\n", socket.local_endpoint().port());
    std::fflush(stdout);
    beck::co_spawn(context, serve(std::move(socket)), beck::detached);
    context.run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "udp_echo: %s\n", e.what());
    return 1;
  }
}
