// SPDX-License-Identifier: BSL-1.0
//
// Echo and broadcast of WebSocket messages with Boost.Beast, with callbacks and time limits as in
// its examples. auto_fragment is off, so that its answers are one frame as those of the others.
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <memory>
#include <string>
#include <vector>

#include "../common/echo.hpp"

namespace {

namespace beast = boost::beast;
namespace websocket = beast::websocket;
using boost::asio::ip::tcp;

class session;
std::vector<session*> members;  // all that are open, for broadcasts
bool is_broadcast = false;

class session : public std::enable_shared_from_this<session> {
 public:
  explicit session(tcp::socket&& socket) : ws_(std::move(socket)) {}
  ~session() { std::erase(members, this); }

  void run() {
    ws_.set_option(websocket::stream_base::timeout::suggested(beast::role_type::server));
    ws_.auto_fragment(false);
    ws_.async_accept([self = shared_from_this()](beast::error_code ec) {
      if (ec) return;
      members.push_back(self.get());
      self->ws_.binary(true);
      self->read();
    });
  }

  // As in Beast's chat server: a queue for each member, which share the text.
  void send(const std::shared_ptr<const std::string>& text) {
    waiting_.push_back(text);
    if (waiting_.size() == 1) send_next();
  }

 private:
  void send_next() {
    ws_.async_write(boost::asio::buffer(*waiting_.front()),
                    beast::bind_front_handler(&session::on_sent, shared_from_this()));
  }
  void on_sent(beast::error_code ec, std::size_t) {
    if (ec) return;
    waiting_.erase(waiting_.begin());
    if (!waiting_.empty()) send_next();
  }
  void read() {
    ws_.async_read(buffer_, beast::bind_front_handler(&session::on_read, shared_from_this()));
  }
  void on_read(beast::error_code ec, std::size_t) {
    if (ec) return;
    ws_.text(ws_.got_text());
    if (is_broadcast) {
      const auto text =
          std::make_shared<const std::string>(beast::buffers_to_string(buffer_.data()));
      buffer_.consume(buffer_.size());
      for (session* each : members) each->send(text);
      read();
      return;
    }
    ws_.async_write(buffer_.data(),
                    beast::bind_front_handler(&session::on_write, shared_from_this()));
  }
  void on_write(beast::error_code ec, std::size_t bytes) {
    if (ec) return;
    buffer_.consume(bytes);
    read();
  }

  websocket::stream<beast::tcp_stream> ws_;
  beast::flat_buffer buffer_;
  std::vector<std::shared_ptr<const std::string>> waiting_;
};

void accept_next(tcp::acceptor& acceptor) {
  acceptor.async_accept([&](beast::error_code ec, tcp::socket socket) {
    if (!ec) {
      socket.set_option(tcp::no_delay(true));
      std::make_shared<session>(std::move(socket))->run();
    }
    accept_next(acceptor);
  });
}

void serve(const bench::settings&, const bench::echo_job& job) {
  is_broadcast = job.is_broadcast;
  boost::asio::io_context context(1);
  tcp::acceptor acceptor(context, tcp::v4(), job.listener);
  accept_next(acceptor);
  context.run();
}

}  // namespace

int main(int argc, char** argv) { return bench::run_websocket(argc, argv, serve, nullptr); }
