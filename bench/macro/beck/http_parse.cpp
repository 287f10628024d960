// SPDX-License-Identifier: BSL-1.0
//
// Heads, bodies, routes and middlewares with beck::http, called as its server calls it: with
// padding behind the input.
#include <beck/base/buffer.hpp>
#include <beck/http/body_decoder.hpp>
#include <beck/http/head_writer.hpp>
#include <beck/http/middleware.hpp>
#include <beck/http/parser.hpp>
#include <beck/http/target.hpp>
#include <beck/io/io_context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "../common/http_messages.hpp"
#include "counters.hpp"
#include "http/server/exchange_state.hpp"
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

// Carries an exchange that sends nothing.
class idle_port final : public http::detail::exchange_port {
 public:
  explicit idle_port(beck::io_context& of) : executor_(of.get_executor()) {}

  const beck::any_io_executor& executor() const noexcept override { return executor_; }
  beck::ip::tcp::endpoint peer() const noexcept override { return {}; }
  beck::detail::fixed_text<100> peer_name() const override { return {}; }
  beck::ip::address client_address(const http::request_head&) const noexcept override { return {}; }
  bool is_layered() const noexcept override { return false; }
  bool client_left() noexcept override { return false; }
  std::shared_ptr<void>& local(const void*) override { return local_; }
  bool read_ready(beck::mutable_buffer, std::size_t&, beck::error_code& ec) override {
    ec = beck::error::eof;
    return true;
  }
  void read(beck::mutable_buffer, http::detail::body_read::handler) override {}
  bool body_is_whole() const noexcept override { return true; }
  bool lower_bound(std::uint64_t) noexcept override { return true; }
  void refuse_body() override {}
  void change_page(http::error_page&) const override {}
  void send(std::string_view) override {}
  bool write_ready(beck::const_buffer, std::size_t&, beck::error_code&) override { return true; }
  void wait_for_room(beck::const_buffer, http::detail::response_write::handler) noexcept override {}
  void cancel_room() noexcept override {}
  bool flush_ready(beck::error_code&) override { return true; }
  void wait_for_flush(http::detail::response_flush::handler) noexcept override {}
  void cancel_flush() noexcept override {}
  bool send_cached(beck::file_object&, std::uint64_t, std::uint64_t, beck::error_code&) override {
    return true;
  }
  void send_file(beck::file_object&, std::uint64_t, std::uint64_t,
                 http::detail::file_send::handler) override {}
  beck::task<beck::io_result<http::tunnel>> take_over() override {
    co_return beck::io_result<http::tunnel>();
  }
  void limit_time(beck::duration) override {}
  std::shared_ptr<void> share() override { return nullptr; }
  void return_exchange() noexcept override {}

 private:
  beck::any_io_executor executor_;
  std::shared_ptr<void> local_;
};

// A handler is called inside the middlewares of one router::use(), or without any.
template <class... Middleware>
void chain(bench::meter& m, const Middleware&... all) {
  using namespace http::detail;
  constexpr std::size_t calls = 16;
  beck::io_context context;
  idle_port port(context);
  http::request_head head;
  exchange_state exchange(port, head);
  std::size_t count = 0;
  auto handler = [&count](http::request&, http::response&) { ++count; };
  const route_choice chosen{&handler_table_of<decltype(handler)>, &handler, 0};
  std::vector<layer> layers;
  if constexpr (sizeof...(all) != 0) layers.push_back(layer_calls::make(all...));
  http::request q = exchange.make_request();
  http::response r = exchange.make_response();
  beck_peer::counters counters(context);
  std::size_t done = 0;
  bench::repeat_http(m, calls, calls, [&] {
    count = 0;
    done += calls;
    for (std::size_t i = 0; i < calls; ++i) {
      exchange.handler.layers.clear();
      exchange.handler.layers.add(layers);
      bench::require(exchange.handler.layers.start(chosen, q, r).is_finished(), "it waits");
    }
    return count;
  });
  counters.report(done, [&](std::string_view name, double value) {
    if (name == "allocations_per_op") m.note("allocations_per_op", value);
  });
  for (const layer& one : layers) one.destroy(one.object);
}

void middleware(bench::meter& m) {
  const auto pass = [](http::request& q, http::response& r, http::next rest) { return rest(q, r); };
  chain(m, pass, pass, pass, pass, pass);
}

void no_middleware(bench::meter& m) { chain(m); }

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
                           {"route", route},
                           {"middleware", middleware},
                           {"no_middleware", no_middleware}});
}
