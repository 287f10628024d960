// SPDX-License-Identifier: BSL-1.0
//
// Connects to a host by its name, sends one line and prints the answer up to the end of a line.
// The lookup blocks no thread of the context; several addresses are tried as RFC 8305 says (Happy
// Eyeballs), and everything together has a limit of ten seconds.
//   name_client HOST SERVICE [LINE]
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/read_until.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/connect_race.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

using namespace std::chrono_literals;
using beck::ip::tcp;

namespace {

constexpr std::size_t answer_bytes_max = 65'536;

beck::task<int> talk(beck::io_context& context, std::string host, std::string service,
                     std::string line) {
  tcp::socket socket(context);
  const auto to = co_await beck::timeout(beck::async_connect(socket, host, service), 10s);
  if (to.error()) {
    std::fprintf(stderr, "name_client: %s:%s: %s\n", host.c_str(), service.c_str(),
                 to.error().message().c_str());
    co_return 1;
  }
  std::printf("connected to %s\n", to->to_text().c_str());

  line += '\n';
  std::string answer;
  const auto sent = co_await beck::async_write(socket, beck::buffer(line));
  if (!sent) co_return 1;
  const auto received = co_await beck::timeout(
      beck::async_read_until(socket, beck::dynamic_buffer(answer, answer_bytes_max), '\n'), 10s);
  if (!received) {
    std::fprintf(stderr, "name_client: %s\n", received.error().message().c_str());
    co_return 1;
  }
  std::printf("%.*s", static_cast<int>(*received), answer.c_str());
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: name_client HOST SERVICE [LINE]\n");
    return 2;
  }
  try {
    beck::io_context context;
    int status = 1;
    std::exception_ptr failure;
    beck::co_spawn(context, talk(context, argv[1], argv[2], argc > 3 ? argv[3] : "hello"),
                   [&](std::exception_ptr e, int result) {
                     failure = e;
                     status = result;
                   });
    context.run();
    if (failure) std::rethrow_exception(failure);
    return status;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "name_client: %s\n", e.what());
    return 1;
  }
}
