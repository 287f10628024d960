// SPDX-License-Identifier: BSL-1.0
//
// The HTTP service with Boost.Beast, with callbacks as in its examples: one message at a time, a
// string as the body, a time limit on each read.
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "../common/http_service.hpp"

namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using boost::asio::ip::tcp;

constexpr std::chrono::seconds limit(75);

beast::string_view text(std::string_view of) { return {of.data(), of.size()}; }

class session : public std::enable_shared_from_this<session> {
 public:
  session(tcp::socket&& socket, const bench::http_service& s, const std::string& body)
      : stream_(std::move(socket)), service_(s), body_(body) {}

  void read() {
    request_ = {};
    stream_.expires_after(limit);
    http::async_read(stream_, buffer_, request_,
                     beast::bind_front_handler(&session::on_read, shared_from_this()));
  }

 private:
  void on_read(beast::error_code ec, std::size_t) {
    if (ec) return close();
    response_ = {http::status::ok, 11};  // Beast writes a response to HTTP/1.0 as it is told to
    response_.set(http::field::server, text(bench::http_server_name));
    response_.set(http::field::date, text(bench::http_date()));
    response_.set(http::field::content_type, text(bench::http_content_type));
    if (service_.close) {
      response_.keep_alive(false);
    } else {
      response_.set(text(bench::http_filler_name), text(bench::http_filler));
    }
    response_.body() = body_;
    response_.prepare_payload();
    http::async_write(stream_, response_,
                      beast::bind_front_handler(&session::on_write, shared_from_this()));
  }

  void on_write(beast::error_code ec, std::size_t) {
    if (ec || service_.close) return close();
    read();
  }

  void close() {
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
  http::response<http::string_body> response_;
  const bench::http_service& service_;
  const std::string& body_;
};

void accept_next(tcp::acceptor& acceptor, const bench::http_service& s, const std::string& body) {
  acceptor.async_accept([&](beast::error_code ec, tcp::socket socket) {
    if (!ec) {
      socket.set_option(tcp::no_delay(true));
      std::make_shared<session>(std::move(socket), s, body)->read();
    }
    accept_next(acceptor, s, body);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const auto s = bench::http_service::from_arguments(argc, argv);
  const std::string body = s.body();
  boost::asio::io_context context(1);
  tcp::acceptor acceptor(context, tcp::v4(), bench::http_listener());
  bench::http_ready(acceptor.local_endpoint().port());
  accept_next(acceptor, s, body);
  context.run();
}
