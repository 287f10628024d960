// SPDX-License-Identifier: BSL-1.0
//
// An echo server with Asio and callbacks, as a user would write it: for the compiler's time.
#include <array>
#include <asio.hpp>
#include <memory>

using asio::ip::tcp;

namespace {

class session : public std::enable_shared_from_this<session> {
 public:
  explicit session(tcp::socket socket) : socket_(std::move(socket)) {}

  void read() {
    socket_.async_read_some(asio::buffer(data_),
                            [self = shared_from_this()](asio::error_code error, std::size_t n) {
                              if (!error) self->write(n);
                            });
  }

 private:
  void write(std::size_t size) {
    asio::async_write(socket_, asio::buffer(data_, size),
                      [self = shared_from_this()](asio::error_code error, std::size_t) {
                        if (!error) self->read();
                      });
  }

  tcp::socket socket_;
  std::array<char, 16384> data_;
};

void accept(tcp::acceptor& acceptor) {
  acceptor.async_accept([&acceptor](asio::error_code error, tcp::socket socket) {
    if (!error) std::make_shared<session>(std::move(socket))->read();
    accept(acceptor);
  });
}

}  // namespace

int main() {
  asio::io_context context;
  tcp::acceptor acceptor(context, tcp::endpoint(tcp::v4(), 55555));
  accept(acceptor);
  context.run();
}
