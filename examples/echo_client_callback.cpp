// SPDX-License-Identifier: BSL-1.0
//
// Sends lines to an echo server, one at a time, and checks the answers, with callbacks.
//   echo_client_callback ADDRESS PORT [COUNT]
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>
#include <cstdio>
#include <string>

#include "number.hpp"

using beck::ip::tcp;

namespace {

class client {
 public:
  client(beck::io_context& context, long count) : socket_(context), count_(count) {}

  void start(const tcp::endpoint& server) {
    socket_.async_connect(server, [this](beck::error_code error) {
      if (!failed(error)) send_next();
    });
  }

  // Requires that the context has run out of work.
  void check() const {
    if (error_) throw beck::io_error(error_, "echo");
    if (done_ != count_) throw std::runtime_error("the answer differs from what was sent");
  }

 private:
  void send_next() {
    if (done_ == count_) return socket_.close();
    line_ = "line " + std::to_string(done_) + "\n";
    answer_.assign(line_.size(), '\0');
    beck::async_write(socket_, beck::buffer(line_), [this](beck::error_code error, std::size_t) {
      if (!failed(error)) receive();
    });
  }
  void receive() {
    beck::async_read(socket_, beck::buffer(answer_), [this](beck::error_code error, std::size_t) {
      if (failed(error) || answer_ != line_) return;
      ++done_;
      send_next();
    });
  }
  bool failed(const beck::error_code& error) {
    error_ = error;
    return static_cast<bool>(error);
  }

  tcp::socket socket_;
  std::string line_, answer_;
  long done_ = 0, count_;
  beck::error_code error_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: echo_client_callback ADDRESS PORT [COUNT]\n");
    return 2;
  }
  try {
    const auto port = beck::ip::make_port(example::number(argv[2]));
    const tcp::endpoint server(beck::ip::make_address(argv[1]), port);
    beck::io_context context;
    client c(context, argc > 3 ? example::number(argv[3]) : 10);
    c.start(server);
    context.run();
    c.check();
    std::printf("all lines came back, %s\n", beck::to_string(context.backend_in_use()));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "echo_client_callback: %s\n", e.what());
    return 1;
  }
}
