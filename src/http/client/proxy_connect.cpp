// SPDX-License-Identifier: BSL-1.0
// The handshakes with proxies: CONNECT of HTTP (RFC 9110, section 9.3.6) and SOCKS5 (RFC 1928, with
// the password of RFC 1929). The caller limits the time.
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include <beck/http/client_error.hpp>
#include <beck/http/parser.hpp>
#include <beck/net/connect_stream.hpp>
#include <beck/net/socket_stream.hpp>

#include "http/client/proxy_rules.hpp"

namespace beck::http::detail {
namespace {

constexpr std::size_t response_bytes_max = 16'384;  // of a proxy, with all 1xx responses

/// A stream that a proxy has refused: it only explains that.
class refused_stream final : public byte_stream {
 public:
  refused_stream(owned_stream of, std::string why) : of_(std::move(of)), why_(std::move(why)) {}

  task<io_result<buffer_lease>> receive() override { return of_->receive(); }
  task<io_result<std::size_t>> read_some(mutable_buffer to) override { return of_->read_some(to); }
  task<io_result<std::size_t>> write_some(const_buffer_span parts) override {
    return of_->write_some(parts);
  }
  std::size_t write_now(const_buffer_span parts, error_code& ec) noexcept override {
    return of_->write_now(parts, ec);
  }
  task<io_result<>> finish() override { return of_->finish(); }
  std::string_view error_text() const noexcept override { return why_; }
  beck::detail::stream_object& socket() noexcept override { return of_->socket(); }
  bool is_plain() const noexcept override { return of_->is_plain(); }

 private:
  owned_stream of_;
  std::string why_;
};

/// The result of a handshake: no error, or the reason of a refusal.
struct handshake_end {
  error_code ec;
  std::string why;

  handshake_end& refuse(std::string text) {
    ec = client_error::proxy_refused;
    why = std::move(text);
    return *this;
  }
};

task<error_code> send_all(byte_stream& to, std::string_view text) {
  error_code ec;
  while (!ec && !text.empty()) {
    const const_buffer rest(text.data(), text.size());
    auto sent = co_await to.write_some(const_buffer_span(&rest, 1));
    ec = sent.error();
    text.remove_prefix(sent.value_);
  }
  co_return ec;
}

/// Receives exactly `bytes` bytes.
task<error_code> receive_exactly(byte_stream& from, char* to, std::size_t bytes) {
  error_code ec;
  while (!ec && bytes != 0) {
    const mutable_buffer room(to, bytes);
    auto got = co_await from.read_some(room);
    ec = got.error();
    to += got.value_;
    bytes -= got.value_;
  }
  co_return ec;
}

/// Returns an error of the stream as that of a handshake: a proxy that ends it has refused.
handshake_end ended_by(const error_code& ec) {
  handshake_end end;
  if (ec == error::eof) return std::move(end.refuse("it has closed the connection"));
  end.ec = ec;
  return end;
}

std::string authority_of(const origin& to) {
  std::string text(to.host);
  if (to.kind == host_kind::ipv6) text = '[' + text + ']';
  return text.append(":").append(std::to_string(to.port));
}

// --- HTTP

/// Receives the response to CONNECT. Behind a good one the bytes are those of the tunnel, and none
/// of them may have come: the client speaks first.
task<handshake_end> receive_response(byte_stream& from) {
  handshake_end end;
  std::string input;
  std::size_t dropped = 0;
  response_parser parser;
  response_head head;
  for (;;) {
    const parse_status parsed = parser.parse(input, method::connect, head);
    if (parsed == parse_status::refused)
      co_return end.refuse("its response is no HTTP: " + std::string(text_of(parser.reason())));
    if (parsed == parse_status::done && number_of(head.status()) >= 200) break;
    if (parsed == parse_status::done && head.status() == status::switching_protocols)
      co_return end.refuse("it answered CONNECT with 101");
    if (parsed == parse_status::done) {  // another one follows
      dropped += head.bytes();
      input.erase(0, head.bytes());
      parser.reset();
      continue;
    }
    if (input.size() + dropped > response_bytes_max)
      co_return end.refuse("its response is longer than 16 KiB");
    char part[1024];
    const mutable_buffer room(part, sizeof part);
    auto got = co_await from.read_some(room);
    if (got.error()) co_return ended_by(got.error());
    input.append(part, got.value_);
  }
  const unsigned number = number_of(head.status());
  if (number > 299)
    co_return end.refuse("it answered " + std::to_string(number) + ' ' +
                         std::string(head.reason()));
  if (head.bytes() != input.size()) co_return end.refuse("it sent bytes behind its response");
  co_return end;
}

task<handshake_end> ask_for_tunnel(byte_stream& over, const proxy_place& proxy, const origin& to) {
  const std::string authority = authority_of(to);
  std::string text = "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n";
  if (!proxy.authorization.empty())
    text.append("Proxy-Authorization: ").append(proxy.authorization).append("\r\n");
  text.append("\r\n");
  const error_code ec = co_await send_all(over, text);
  if (ec) co_return ended_by(ec);
  auto end = co_await receive_response(over);
  co_return end;
}

// --- SOCKS5

enum class socks_method : unsigned char { none = 0, password = 2 };

void append_byte(std::string& to, std::size_t value) {
  to += static_cast<char>(static_cast<unsigned char>(value));
}

unsigned byte_at(const char* from, std::size_t at) noexcept {
  return static_cast<unsigned char>(from[at]);
}

std::string_view socks_reply_text(unsigned code) noexcept {
  constexpr std::array<std::string_view, 9> texts = {"",
                                                     "general failure",
                                                     "the connection is not allowed by its rules",
                                                     "the network is unreachable",
                                                     "the host is unreachable",
                                                     "the connection was refused",
                                                     "the time to live has expired",
                                                     "the command is not supported",
                                                     "the type of the address is not supported"};
  return code < texts.size() ? texts[code] : "an unknown failure";
}

task<handshake_end> log_in(byte_stream& over, const proxy_place& proxy) {
  handshake_end end;
  const bool has_user = !proxy.user.empty();
  std::string text(1, '\x05');
  append_byte(text, has_user ? 2 : 1);
  append_byte(text, static_cast<std::size_t>(socks_method::none));
  if (has_user) append_byte(text, static_cast<std::size_t>(socks_method::password));
  error_code ec = co_await send_all(over, text);
  char answer[2];
  if (!ec) ec = co_await receive_exactly(over, answer, sizeof answer);
  if (ec) co_return ended_by(ec);
  if (byte_at(answer, 0) != 5) co_return end.refuse("it does not speak SOCKS5");
  const unsigned method = byte_at(answer, 1);
  if (method == static_cast<unsigned>(socks_method::none)) co_return end;
  if (method != static_cast<unsigned>(socks_method::password) || !has_user)
    co_return end.refuse(has_user ? "it takes neither this password nor none"
                                  : "it asks for a user and a password");
  text.assign(1, '\x01');
  append_byte(text, proxy.user.size());
  text.append(proxy.user);
  append_byte(text, proxy.password.size());
  text.append(proxy.password);
  ec = co_await send_all(over, text);
  if (!ec) ec = co_await receive_exactly(over, answer, sizeof answer);
  if (ec) co_return ended_by(ec);
  if (byte_at(answer, 1) != 0) co_return end.refuse("it refused the user or the password");
  co_return end;
}

/// Returns a request to connect to an origin, by its name if it has one.
std::string socks_request(const origin& to) {
  std::string text("\x05\x01\x00", 3);
  error_code ec;
  const ip::address address =
      to.kind == host_kind::name ? ip::address() : ip::make_address(to.host, ec);
  const auto append_bytes = [&text](const auto& bytes) {
    for (const unsigned char byte : bytes) append_byte(text, byte);
  };
  if (to.kind == host_kind::name || ec) {
    append_byte(text, 3);
    append_byte(text, to.host.size());
    text.append(to.host);
  } else if (address.is_v4()) {
    append_byte(text, 1);
    append_bytes(address.to_v4().to_bytes());
  } else {
    append_byte(text, 4);
    append_bytes(address.to_v6().to_bytes());
  }
  append_byte(text, to.port >> 8U);
  append_byte(text, to.port & 255U);
  return text;
}

task<handshake_end> ask_socks(byte_stream& over, const proxy_place& proxy, const origin& to) {
  auto end = co_await log_in(over, proxy);
  if (end.ec) co_return end;
  const std::string text = socks_request(to);
  error_code ec = co_await send_all(over, text);
  char answer[5];  // up to the first byte of the address that it is bound to
  if (!ec) ec = co_await receive_exactly(over, answer, sizeof answer);
  if (ec) co_return ended_by(ec);
  if (byte_at(answer, 0) != 5) co_return end.refuse("it does not speak SOCKS5");
  if (const unsigned code = byte_at(answer, 1); code != 0)
    co_return end.refuse("it answered " + std::to_string(code) + ", " +
                         std::string(socks_reply_text(code)));
  std::size_t left = 0;
  switch (byte_at(answer, 3)) {
    case 1:
      left = 3 + 2;
      break;
    case 3:
      left = byte_at(answer, 4) + 2;
      break;
    case 4:
      left = 15 + 2;
      break;
    default:
      co_return end.refuse("its answer has an address of an unknown type");
  }
  char rest[255 + 2];
  ec = co_await receive_exactly(over, rest, left);
  if (ec) co_return ended_by(ec);
  co_return end;
}

}  // namespace

task<io_result<owned_stream>> connect_through(any_io_executor on, const proxy_place& proxy,
                                              const origin& to) {
  auto connecting = ip::connect_stream(on, proxy.host, proxy.port);
  io_result<owned_stream> result = co_await std::move(connecting);
  if (result.error()) {
    owned_stream none(new socket_stream(on));  // closed
    std::string why = "the proxy " + proxy.name + " cannot be reached";
    result.value_ = owned_stream(new refused_stream(std::move(none), std::move(why)));
    co_return result;
  }
  if (takes_whole_urls(proxy, to)) co_return result;
  byte_stream& over = *result.value_;
  handshake_end end;
  if (proxy.kind == proxy_kind::http) {
    end = co_await ask_for_tunnel(over, proxy, to);
  } else {
    end = co_await ask_socks(over, proxy, to);
  }
  result.error_ = end.ec;
  if (end.ec) over.socket().close();
  if (!end.why.empty()) {
    std::string why = "the proxy " + proxy.name + ": " + end.why;
    owned_stream refused(new refused_stream(std::move(result.value_), std::move(why)));
    result.value_ = std::move(refused);
  }
  co_return result;
}

}  // namespace beck::http::detail
