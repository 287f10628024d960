// SPDX-License-Identifier: BSL-1.0
//
// The texts. Each length is part of a case's name, and checked.
#include "http_messages.hpp"

#include <algorithm>
#include <cstdio>

namespace bench {
namespace {

constexpr std::size_t padding = 64;
constexpr std::size_t pipelined_messages = 16;
constexpr std::size_t chunk_bytes = 256;

constexpr std::string_view head_37 = "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n";
constexpr std::string_view head_109 =
    "GET /welcome HTTP/1.1\r\n"
    "Host: localhost:8080\r\n"
    "User-Agent: curl/7.88.1\r\n"
    "Accept: */*\r\n"
    "Connection: keep-alive\r\n\r\n";
// As a browser asks for a picture of a page.
constexpr std::string_view head_703 =
    "GET /articles/2026/11/the-quiet-machine-room/pictures/corridor.jpg HTTP/1.1\r\n"
    "Host: www.example.com\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"
    "Accept: image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5\r\n"
    "Accept-Language: en-GB,en;q=0.7,de;q=0.3\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"
    "DNT: 1\r\n"
    "Connection: keep-alive\r\n"
    "Referer: https://www.example.com/articles/2026/11/the-quiet-machine-room/index.html\r\n"
    "Cookie: session=7c1f0b52e9d84a36b1c07ee4d2a95f18; visited=2026-11-03T09:12:44Z; theme=dark; "
    "consent=necessary+statistics; basket=0; recently=the-quiet-machine-room,a-week-without-dns,"
    "how-we-lost-the-keys; campaign=(direct)|newsletter-4\r\n\r\n";
static_assert(head_37.size() == 37 && head_109.size() == 109 && head_703.size() == 703);

constexpr std::string_view head_chunked =
    "POST /rows HTTP/1.1\r\nHost: localhost:8080\r\nTransfer-Encoding: chunked\r\n\r\n";

// Lines that end in CR LF: the first one and an empty one are no fields.
std::size_t fields_in(std::string_view head) {
  return static_cast<std::size_t>(std::count(head.begin(), head.end(), '\n')) - 2;
}

std::string chunked_message() {
  std::string text(head_chunked);
  char size_line[16];
  std::snprintf(size_line, sizeof size_line, "%zx\r\n", chunk_bytes);
  for (std::size_t i = 0; i < http_body_bytes / chunk_bytes; ++i)
    text.append(size_line).append(chunk_bytes, 'x').append("\r\n");
  return text + "0\r\n\r\n";
}

}  // namespace

const std::string_view http_response_head =
    "HTTP/1.1 200 OK\r\n"
    "Server: beck\r\n"
    "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
    "Content-Type: text/html; charset=utf-8\r\n"
    "ETag: \"5e2a-18f0c2b7\"\r\n"
    "Content-Length: 24106\r\n\r\n";

const std::string_view http_response_server = "beck";
const std::string_view http_response_date = "Sun, 06 Nov 1994 08:49:37 GMT";
const std::string_view http_response_type = "text/html; charset=utf-8";
const std::string_view http_response_etag = "\"5e2a-18f0c2b7\"";
const std::uint64_t http_response_length = 24106;

http_text::http_text(std::string_view case_name) {
  std::string_view head;
  if (case_name == "head_37") head = head_37;
  if (case_name == "head_109" || case_name == "pipelined" || case_name == "split") head = head_109;
  if (case_name == "head_703") head = head_703;
  if (case_name == "pipelined") messages_ = pipelined_messages;
  for (std::size_t i = 0; i < messages_; ++i) storage_ += head;
  if (case_name == "chunked") storage_ = chunked_message();
  require(!storage_.empty(), "no text for this case");
  if (!head.empty()) fields_ = messages_ * fields_in(head);
  bytes_ = storage_.size();
  storage_.append(padding, '\0');
}

}  // namespace bench
