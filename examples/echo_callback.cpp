// SPDX-License-Identifier: BSL-1.0
//
// A TCP server that sends back the data that it receives, with callbacks.
//   echo_callback [PORT]        no port, or 0: any free one; it is printed
//   BECK_BACKEND=epoll echo_callback 7000
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>
#include <cstdio>

#include "number.hpp"

using beck::ip::tcp;

namespace {

// One connection. Each handler passes it to the next through an owner: when the last handler is
// destroyed, called or not, the connection is closed. (std::unique_ptr does the same, but its
// header alone is as long as all that this program includes.)
struct session {
  class owner {
   public:
    explicit owner(tcp::socket socket) : session_(new session{std::move(socket)}) {}
    owner(owner&& other) noexcept : session_(std::exchange(other.session_, nullptr)) {}
    owner& operator=(owner&&) = delete;
    ~owner() { delete session_; }
    session& operator*() const { return *session_; }

   private:
    session* session_;
  };

  tcp::socket socket;
  char data[16384] = {};

  static void read(owner self) {
    session& s = *self;
    s.socket.async_read_some(
        beck::buffer(s.data),
        [self = std::move(self)](beck::error_code error, std::size_t size) mutable {
          if (!error) write(std::move(self), size);
        });
  }
  static void write(owner self, std::size_t size) {
    session& s = *self;
    beck::async_write(s.socket, beck::buffer(s.data, size),
                      [self = std::move(self)](beck::error_code error, std::size_t) mutable {
                        if (!error) read(std::move(self));
                      });
  }
};

void accept(tcp::acceptor& acceptor) {
  acceptor.async_accept([&acceptor](beck::error_code error, tcp::socket socket) {
    if (error) return;
    socket.set_option(tcp::no_delay(true));
    session::read(session::owner(std::move(socket)));
    accept(acceptor);
  });
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto port = beck::ip::make_port(argc > 1 ? example::number(argv[1]) : 0);
    beck::io_context context;
    tcp::acceptor acceptor(context, tcp::endpoint(tcp::v4(), port));
    std::printf("listening on port %d, %s\n", acceptor.local_endpoint().port(),
                beck::to_string(context.backend_in_use()));
    std::fflush(stdout);
    accept(acceptor);
    context.run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "echo_callback: %s\n", e.what());
    return 1;
  }
}
