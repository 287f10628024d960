// SPDX-License-Identifier: BSL-1.0
//
// An HTTP server that blocks; coroutine_http_server is the same with coroutines, and
// docs/blocking-to-coroutines.md has the difference. The second argument chooses where a connection
// is served: in the loop that accepts (one), on a thread of its own (threads), or on one of 64
// threads (pool).
//   blocking_http_server PORT [one|threads|pool]      port 0: any free one; it is printed
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/post.hpp>
#include <beck/run/thread_pool.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "greeter.hpp"
#include "number.hpp"

using beck::ip::tcp;

namespace {

void session(tcp::socket socket) {
  example::greeter greeter;
  char data[4096];
  beck::error_code ec;
  while (greeter.goes_on()) {
    const std::size_t size = socket.read_some(beck::buffer(data), ec);
    if (ec) return;
    const std::string responses = greeter.responses_to({data, size});
    beck::write(socket, beck::buffer(responses), ec);
    if (ec) return;
  }
}

void serve(tcp::acceptor acceptor, const std::string& where) {
  beck::thread_pool pool(where == "pool" ? 64 : 1);
  for (;;) {
    tcp::socket socket = acceptor.accept();
    socket.set_option(tcp::no_delay(true));
    if (where == "threads") {
      std::thread(session, std::move(socket)).detach();
    } else if (where == "pool") {
      beck::post(pool, [one = std::move(socket)]() mutable { session(std::move(one)); });
    } else {
      session(std::move(socket));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto port = beck::ip::make_port(argc > 1 ? example::number(argv[1]) : 0);
    const std::string where = argc > 2 ? argv[2] : "one";
    beck::io_context context;
    tcp::acceptor acceptor(context, tcp::endpoint(tcp::v4(), port));
    std::printf("listening on port %d\n", acceptor.local_endpoint().port());
    std::fflush(stdout);
    serve(std::move(acceptor), where);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "blocking_http_server: %s\n", e.what());
    return 1;
  }
}
