// SPDX-License-Identifier: BSL-1.0
//
// Heads, bodies and routes with beck::http, called as its server calls it: with padding behind the
// input.
#include <beck/base/buffer.hpp>
#include <beck/http/body_decoder.hpp>
#include <beck/http/head_writer.hpp>
#include <beck/http/parser.hpp>
#include <beck/http/target.hpp>
#include <memory>
#include <string>
#include <vector>

#include "../common/http_messages.hpp"
#include "http/server/route_table.hpp"

namespace {

namespace http = beck::http;

class parser {
 public:
  std::size_t parse(std::string_view text) {
    std::size_t fields = 0;
    while (!text.empty()) {
      if (parser_.parse_padded(text, head_) != http::parse_status::done) return 0;
      parser_.reset();
      fields += head_.size();
      text.remove_prefix(head_.bytes());
    }
    return fields;
  }

  std::size_t parse_bytes(std::string_view text) {
    http::parse_status status = http::parse_status::more;
    for (std::size_t n = 1; n <= text.size(); ++n)
      status = parser_.parse_padded(text.substr(0, n), head_);
    parser_.reset();
    return status == http::parse_status::done ? head_.size() : 0;
  }

  std::size_t parse_body(std::string_view text) {
    if (parser_.parse_padded(text, head_) != http::parse_status::done) return 0;
    parser_.reset();
    text.remove_prefix(head_.bytes());
    http::body_decoder decoder(head_);
    std::size_t bytes = 0;
    for (;;) {
      const http::body_part part = decoder.decode(text);
      bytes += part.data.size();
      text.remove_prefix(part.consumed);
      if (part.status == http::parse_status::done) return text.empty() ? bytes : 0;
      if (part.status == http::parse_status::refused || part.consumed == 0) return 0;
    }
  }

 private:
  http::request_parser parser_;
  http::request_head head_;
};

void head_writer(bench::meter& m) {
  char room[512];
  bench::repeat_http(m, 1, bench::http_response_head.size(), [&] {
    return http::head_writer(beck::mutable_buffer(room, sizeof room))
        .start(http::status::ok)
        .add(http::field::server, bench::http_response_server)
        .add(http::field::date, bench::http_response_date)
        .add(http::field::content_type, bench::http_response_type)
        .add(http::field::etag, bench::http_response_etag)
        .add(http::field::content_length, bench::http_response_length)
        .finish()
        .size();
  });
  bench::require(
      std::string_view(room, bench::http_response_head.size()) == bench::http_response_head,
      "the head is another one");
}

// A path is decoded and its route found among 100, with its captures: a router without a server.
void route(bench::meter& m) {
  using beck::http::detail::handler_table;
  static constexpr handler_table none{nullptr, nullptr, nullptr, nullptr, [](void*) noexcept {}};
  http::detail::route_table table;
  std::vector<std::string> paths;
  for (int i = 0; i < 20; ++i) {
    const std::string folder = "/api/v1/resource" + std::to_string(i);
    for (const char* end : {"", "/search", "/{id}", "/{id}/items", "/{id}/items/{item}"}) {
      table.add(http::method::get, folder + end,
                std::make_unique<http::detail::route>(nullptr, none));
    }
    for (const char* end : {"", "/search", "/12345", "/12345/items", "/12345/items/77"})
      paths.push_back(folder + end);
  }
  bench::repeat_http(m, paths.size(), 80, [&] {
    char room[128];
    std::size_t captures = 0;
    for (const std::string& path : paths) {
      http::detail::route_search search;
      table.find(http::decode_path(path, {room, sizeof room}).path, search);
      if (search.found != nullptr) captures += search.count;
    }
    return captures;
  });
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "http_parse",
                          {{"head_37", bench::parse_whole<parser>},
                           {"head_109", bench::parse_whole<parser>},
                           {"head_703", bench::parse_whole<parser>},
                           {"pipelined", bench::parse_whole<parser>},
                           {"split", bench::parse_bytes<parser>},
                           {"chunked", bench::parse_body<parser>},
                           {"head_writer", head_writer},
                           {"route", route}});
}
