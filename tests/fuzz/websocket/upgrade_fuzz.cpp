// SPDX-License-Identifier: BSL-1.0
// The handshake: a request that is accepted is one, whatever else is in it; the answer to it is
// accepted by its client, and no other one.
#include <string>

#include <beck/http/parser.hpp>

#include "fuzz/http/fuzz.hpp"
#include "websocket/handshake.hpp"

namespace {

using namespace beck::websocket;
using namespace beck::http::fuzz;
namespace http = beck::http;

constexpr std::string_view spoken = "v2, v1";
constexpr std::string_view sample_key = "dGhlIHNhbXBsZSBub25jZQ==";

/// The answer that accept() gives is accepted, and with another key it is not.
void answer(const detail::upgrade_check& good) {
  std::string text =
      "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n";
  text += "Sec-WebSocket-Accept: " + detail::accept_value(good.key) + "\r\n";
  if (!good.protocol.empty())
    text.append("Sec-WebSocket-Protocol: ").append(good.protocol).append("\r\n");
  text += "\r\n";
  http::response_parser parser;
  http::response_head head;
  require(parser.parse(text, http::method::get, head) == http::parse_status::done,
          "an answer is no response");
  std::string_view protocol;
  require(detail::check_response(head, good.key, spoken, protocol), "an answer is not accepted");
  require_equal(protocol, good.protocol, "another protocol");
  std::string other(good.key);
  other[0] = other[0] == 'A' ? 'B' : 'A';
  require(!detail::check_response(head, other, spoken, protocol), "an answer to another key");
}

void check_request(std::string_view input) {
  http::request_parser parser;
  http::request_head head;
  if (parser.parse(input, head) != http::parse_status::done) return;
  const accept_options how = accept_options{.protocols = spoken, .origins = "https://a.example"};
  const detail::upgrade_check checked = detail::check_request(head, how);
  const bool refused = checked.answer != http::status::switching_protocols;
  require(refused == bool(checked.error), "a refusal without a reason, or a reason without one");
  if (refused) return;
  require(head.method() == http::method::get && head.minor_version() == 1, "no GET");
  require(head.lists(http::field::upgrade, "websocket"), "no Upgrade");
  require(head.lists(http::field::connection, "upgrade"), "no Connection");
  require(head.get(http::field::sec_websocket_version) == "13", "another version");
  require(detail::is_key(checked.key) && checked.key.size() == 24, "no key");
  require(checked.protocol.empty() || checked.protocol == "v1" || checked.protocol == "v2",
          "a protocol that is not spoken");
  answer(checked);
}

void check_response(std::string_view input) {
  http::response_parser parser;
  http::response_head head;
  if (parser.parse(input, http::method::get, head) != http::parse_status::done) return;
  std::string_view protocol;
  if (!detail::check_response(head, sample_key, spoken, protocol)) return;
  require(head.get(http::field::sec_websocket_accept) == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
          "a wrong answer is accepted");
  require(!head.has(http::field::sec_websocket_extensions), "an extension is accepted");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const exact_copy input(beck::http::fuzz::text_of(data, size));
  check_request(input.view());
  check_response(input.view());
  const std::string url = detail::http_url(input.view());
  require(url.empty() || url.starts_with("http:") || url.starts_with("https:"), "a foreign URL");
  return 0;
}
