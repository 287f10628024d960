// SPDX-License-Identifier: BSL-1.0
// ssl::stream with foreign peers: OpenSSL's s_client and s_server with their default settings,
// curl, and Python's ssl. A peer that the machine has not got is skipped.
#include <beck/io/pipe.hpp>
#include <beck/io/process.hpp>
#include <functional>
#include <vector>

#include "ssl_pair.hpp"

namespace {

using namespace beck_ssl_test;
using asio::use_awaitable;
using asio::ip::tcp;
using beck::tls::test::identity_files;

const tcp::endpoint any_port(asio::ip::make_address("127.0.0.1"), 0);

bool is_there(const char* program, const char* argument) {
  asio::io_context ctx(context_options());
  beck::process child(ctx);
  asio::error_code ec;
  child.spawn(program, {argument}, beck::process_options().out(nullptr).err(nullptr), ec);
  return !ec && child.wait(ec).success();
}

asio::awaitable<void> read_to_end(beck::readable_pipe& from, std::string& text) {
  char part[4096];
  for (;;) {
    const auto got =
        co_await from.async_read_some(asio::buffer(part), asio::as_tuple(use_awaitable));
    if (std::get<0>(got)) break;
    text.append(part, std::get<1>(got));
  }
}

/// The conversation with s_client: a command is given when the one before has had its effect.
class client_script {
 public:
  client_script(beck::writable_pipe& in, std::vector<std::string> commands)
      : in_(in), commands_(std::move(commands)) {}
  void next() {
    if (at_ == commands_.size()) return;
    asio::async_write(in_, asio::buffer(commands_[at_++]), [](auto ec, auto) { CHECK_FALSE(ec); });
  }
  bool is_over() const { return at_ == commands_.size(); }

 private:
  beck::writable_pipe& in_;
  std::vector<std::string> commands_;
  std::size_t at_ = 0;
};

/// Sends until the script is over.
asio::awaitable<void> pump(ssl::stream<tcp::socket>& to, const client_script& script,
                           std::size_t& sent) {
  const std::string part(20'000, 'z');
  while (!script.is_over()) {
    co_await asio::async_write(to, asio::buffer(part), use_awaitable);
    sent += part.size();
  }
}
asio::awaitable<void> read_commands(ssl::stream<tcp::socket>& from, client_script& script,
                                    std::string& text) {
  script.next();
  std::string part(1024, '\0');
  for (;;) {
    const auto got =
        co_await from.async_read_some(asio::buffer(part), asio::as_tuple(use_awaitable));
    if (const asio::error_code ec = std::get<0>(got)) {
      CHECK_MESSAGE(ec == asio::error::eof, ec.message());
      break;
    }
    text.append(part, 0, std::get<1>(got));
    script.next();
  }
}

asio::awaitable<void> answer_http(tcp::acceptor& acceptor, ssl::context& settings) {
  ssl::stream<tcp::socket> stream(co_await acceptor.async_accept(use_awaitable), settings);
  co_await stream.async_handshake(ssl::stream_base::server, use_awaitable);
  std::string request;
  co_await asio::async_read_until(stream, asio::dynamic_buffer(request), "\r\n\r\n", use_awaitable);
  CHECK(request.starts_with("GET /page HTTP/1.1\r\n"));
  const std::string answer =
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
  co_await asio::async_write(stream, asio::buffer(answer), use_awaitable);
  co_await stream.async_shutdown(asio::as_tuple(use_awaitable));  // curl need not answer
}

asio::awaitable<void> echo(tcp::acceptor& acceptor, ssl::context& settings) {
  ssl::stream<tcp::socket> stream(co_await acceptor.async_accept(use_awaitable), settings);
  co_await stream.async_handshake(ssl::stream_base::server, use_awaitable);
  std::string part(16'384, '\0');
  for (;;) {
    const auto got =
        co_await stream.async_read_some(asio::buffer(part), asio::as_tuple(use_awaitable));
    if (const asio::error_code ec = std::get<0>(got)) {
      CHECK_MESSAGE(ec == asio::error::eof, ec.message());
      break;
    }
    co_await asio::async_write(stream, asio::buffer(part, std::get<1>(got)), use_awaitable);
  }
  co_await stream.async_shutdown(use_awaitable);
}

asio::awaitable<void> talk_to_server(beck::readable_pipe& out, asio::io_context& ctx,
                                     ssl::context& settings) {
  std::string text;
  co_await asio::async_read_until(out, asio::dynamic_buffer(text),
                                  "ACCEPT 127.0.0.1:", use_awaitable);
  const std::size_t begin = text.find("ACCEPT 127.0.0.1:") + 17;
  while (text.find('\n', begin) == std::string::npos) {
    char more;
    co_await out.async_read_some(asio::buffer(&more, 1), use_awaitable);
    text += more;
  }
  ssl::stream<tcp::socket> stream(ctx, settings);
  const tcp::endpoint at(asio::ip::make_address("127.0.0.1"),
                         static_cast<unsigned short>(std::stoi(text.substr(begin))));
  co_await stream.lowest_layer().async_connect(at, use_awaitable);
  co_await stream.async_handshake(ssl::stream_base::client, use_awaitable);
  for (int round = 0; round != 3; ++round) {
    co_await asio::async_write(stream, asio::buffer("hello\n", 6), use_awaitable);
    std::string answer;
    co_await asio::async_read_until(stream, asio::dynamic_buffer(answer), '\n', use_awaitable);
    CHECK(answer == "olleh\n");
  }
  const auto ended = co_await stream.async_shutdown(asio::as_tuple(use_awaitable));
  CHECK_FALSE(std::get<0>(ended));
}

}  // namespace

CONFORMANCE_ON(::beck::test::kernel,
               "asio::ssl: s_client asks for new keys while both sides send") {
  if (!is_there("openssl", "version")) SKIP_CASE("no openssl");
  const identity_files files;
  asio::io_context ctx(context_options());
  ssl::context settings = server_settings(ssl::context::sslv23);
  tcp::acceptor acceptor(ctx, any_port);
  beck::writable_pipe in(ctx);
  beck::readable_pipe out(ctx);
  const std::string address = "127.0.0.1:" + std::to_string(acceptor.local_endpoint().port());
  beck::process peer(ctx, "openssl",
                     {"s_client", "-connect", address, "-CAfile", files.path("root.pem"),
                      "-verify_return_error", "-verify_hostname", "example.com"},
                     beck::process_options().in(in).out(out).err(nullptr));
  ssl::stream<tcp::socket> stream(ctx, settings);
  client_script script(in, {"first\n", "K\n", "second\n", "K\n", "k\n", "third\n", "Q\n"});
  // The callback of OpenSSL sees the request for new keys, which no read returns.
  int updates = 0;
  std::function<void()> asked = [&] {
    ++updates;
    asio::post(ctx, [&] { script.next(); });
  };
  SSL_set_msg_callback_arg(stream.native_handle(), &asked);
  SSL_set_msg_callback(stream.native_handle(), [](int sent, int, int type, const void* bytes,
                                                  std::size_t, SSL*, void* call) {
    const bool is_update = type == SSL3_RT_HANDSHAKE &&
                           *static_cast<const unsigned char*>(bytes) == SSL3_MT_KEY_UPDATE;
    if (sent == 0 && is_update) (*static_cast<std::function<void()>*>(call))();
  });
  std::string said;
  std::string printed;
  std::size_t sent = 0;
  acceptor.async_accept(stream.lowest_layer(), [&](asio::error_code accepted) {
    REQUIRE_FALSE(accepted);
    stream.async_handshake(ssl::stream_base::server, [&](asio::error_code ec) {
      REQUIRE_MESSAGE(!ec, ec.message());
      asio::co_spawn(ctx, pump(stream, script, sent), asio::detached);
      asio::co_spawn(ctx, read_commands(stream, script, said), asio::detached);
    });
  });
  run_all(ctx, read_to_end(out, printed));
  CHECK(said == "first\nsecond\nthird\n");
  CHECK(sent > 0);
  CHECK(printed.find("zzzz") != std::string::npos);
  CHECK(updates == 3);
  CHECK(peer.wait().success());
}

CONFORMANCE_ON(::beck::test::kernel, "asio::ssl: a client of s_server with its default settings") {
  if (!is_there("openssl", "version")) SKIP_CASE("no openssl");
  const identity_files files;
  asio::io_context ctx(context_options());
  ssl::context settings = client_settings(ssl::context::sslv23);
  beck::readable_pipe out(ctx);
  beck::process peer(ctx, "openssl",
                     {"s_server", "-accept", "127.0.0.1:0", "-cert_chain", files.chain(made::good),
                      "-cert", files.chain(made::good), "-key", files.key(made::good), "-rev"},
                     beck::process_options().in(nullptr).out(out).err(nullptr));
  run_all(ctx, talk_to_server(out, ctx, settings));
}

CONFORMANCE_ON(::beck::test::kernel, "asio::ssl: curl gets a page") {
  if (!is_there("curl", "--version")) SKIP_CASE("no curl");
  const identity_files files;
  asio::io_context ctx(context_options());
  ssl::context settings = server_settings();
  tcp::acceptor acceptor(ctx, any_port);
  beck::readable_pipe out(ctx);
  const std::string port = std::to_string(acceptor.local_endpoint().port());
  beck::process peer(
      ctx, "curl",
      {"-sS", "--cacert", files.path("root.pem"), "--resolve", "example.com:" + port + ":127.0.0.1",
       "https://example.com:" + port + "/page"},
      beck::process_options().in(nullptr).out(out));
  std::string page;
  run_all(ctx, answer_http(acceptor, settings), read_to_end(out, page));
  CHECK(page == "hello");
  CHECK(peer.wait().success());
}

CONFORMANCE_ON(::beck::test::kernel, "asio::ssl: Python's ssl echoes a megabyte and says the end") {
  if (!is_there("python3", "--version")) SKIP_CASE("no python3");
  const identity_files files;
  asio::io_context ctx(context_options());
  ssl::context settings = server_settings();
  tcp::acceptor acceptor(ctx, any_port);
  const std::string port = std::to_string(acceptor.local_endpoint().port());
  const std::string program =
      "import socket, ssl, sys, threading\n"
      "trust = ssl.create_default_context(cafile=sys.argv[1])\n"
      "plain = socket.create_connection(('127.0.0.1', int(sys.argv[2])))\n"
      "s = trust.wrap_socket(plain, server_hostname='example.com')\n"
      "sent = bytes(range(256)) * 4096\n"
      "writer = threading.Thread(target=lambda: s.sendall(sent))\n"
      "writer.start()\n"
      "got = bytearray()\n"
      "while len(got) < len(sent): got += s.recv(65536)\n"
      "writer.join()\n"
      "assert got == sent\n"
      "s.unwrap().close()\n";
  beck::process peer(ctx, "python3", {"-c", program, files.path("root.pem"), port},
                     beck::process_options().in(nullptr));
  run_all(ctx, echo(acceptor, settings));
  CHECK(peer.wait().success());
}
