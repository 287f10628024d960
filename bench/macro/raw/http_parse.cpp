// SPDX-License-Identifier: BSL-1.0
//
// A head written without any check: texts behind each other, and a number.
#include <charconv>
#include <cstring>

#include "../common/http_messages.hpp"

namespace {

struct writer {
  char* at;

  writer& put(std::string_view text) {
    std::memcpy(at, text.data(), text.size());
    at += text.size();
    return *this;
  }
  writer& put(std::uint64_t number) {
    at = std::to_chars(at, at + 20, number).ptr;
    return *this;
  }
};

std::size_t write(char* room) {
  writer w{room};
  w.put("HTTP/1.1 200 OK\r\nServer: ").put(bench::http_response_server);
  w.put("\r\nDate: ").put(bench::http_response_date);
  w.put("\r\nContent-Type: ").put(bench::http_response_type);
  w.put("\r\nETag: ").put(bench::http_response_etag);
  w.put("\r\nContent-Length: ").put(bench::http_response_length).put("\r\n\r\n");
  return static_cast<std::size_t>(w.at - room);
}

void head_writer(bench::meter& m) {
  char room[512];
  bench::repeat_http(m, 1, bench::http_response_head.size(), [&] { return write(room); });
  bench::require(
      std::string_view(room, bench::http_response_head.size()) == bench::http_response_head,
      "the head is another one");
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "http_parse", {{"head_writer", head_writer}});
}
