// SPDX-License-Identifier: BSL-1.0
//
// The server that peers.sh, hostile.sh and differential.py talk to. It responds with what it has
// understood, so that a peer can compare:
//   /stats           its counters, as lines "name value"
//   /bytes/N         N bytes, with Content-Length; "a" to "z" over and over
//   /stream/N        the same in chunks
//   /file            the file of --file, by sendfile
//   /refuse          401 at once; the body stays unread
//   any other        "METHOD TARGET BYTES CHECKSUM", of the body; the checksum is Adler-32
// The log has a line for each request that has arrived but that for /stats: "METHOD TARGET", or "-"
// and the reason for which its head was refused.
// With --folder it serves the files of a folder instead.
// usage: peer_server [--log FILE] [--file FILE] [--folder DIRECTORY] [--connections N]
//                    [--idle SECONDS] [--head SECONDS] [--response SECONDS]
// It prints "listening on port N" and serves on one context until SIGTERM.
#include <beck/coro/co_spawn.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/http/server.hpp>
#include <beck/http/static_files.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/signal_set.hpp>
#include <beck/transfer/transfer_report.hpp>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

namespace http = beck::http;

namespace {

constexpr std::uint64_t body_bytes_max = 64 << 20;
constexpr std::size_t piece_bytes = 26 * 512;

struct options {
  std::string log, file, folder;
  std::size_t connections = 10'000;
  long long idle_s = 75, head_s = 10, response_s = 30;
};

options read_options(int argc, char** argv) {
  options result;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const char* const value = argv[i + 1];
    const long long number = std::strtoll(value, nullptr, 10);
    if (name == "--log") {
      result.log = value;
    } else if (name == "--file") {
      result.file = value;
    } else if (name == "--folder") {
      result.folder = value;
    } else if (name == "--connections") {
      result.connections = static_cast<std::size_t>(number);
    } else if (name == "--idle") {
      result.idle_s = number;
    } else if (name == "--head") {
      result.head_s = number;
    } else if (name == "--response") {
      result.response_s = number;
    } else {
      std::fprintf(stderr, "peer_server: unknown option: %s\n", argv[i]);
      std::exit(2);
    }
  }
  return result;
}

beck::duration seconds(long long count) { return beck::duration(count * 1'000'000'000); }

/// The checksum of RFC 1950.
class adler32 {
 public:
  void add(std::string_view text) {
    for (const char c : text) {
      a_ = (a_ + static_cast<unsigned char>(c)) % 65'521;
      b_ = (b_ + a_) % 65'521;
    }
  }
  std::uint32_t value() const { return b_ << 16 | a_; }

 private:
  std::uint32_t a_ = 1, b_ = 0;
};

class peer_handler {
 public:
  peer_handler(beck::io_context& context, const options& how) : file_(context) {
    for (std::size_t i = 0; i < piece_bytes; ++i) piece_ += static_cast<char>('a' + i % 26);
    if (!how.file.empty()) file_.open(how.file.c_str(), beck::file_object::read_only);
  }

  void of(const http::server& served) { served_ = &served; }

  beck::task<> operator()(http::request& request, http::response& response) {
    const std::string_view path = request.path();
    if (path == "/stats") {
      response.send(stats());
      co_return;
    }
    if (path.starts_with("/bytes/") || path.starts_with("/stream/")) {
      const std::string digits(path.substr(path.rfind('/') + 1));
      const std::uint64_t bytes = std::strtoull(digits.c_str(), nullptr, 10);
      response.status(http::status::ok);  // a response also without a byte
      if (path.starts_with("/bytes/")) response.content_length(bytes);
      co_await send_bytes(response, bytes);
    } else if (path == "/refuse") {
      response.status(http::status::unauthorized).send("refused\n");
    } else if (path == "/file") {
      beck::ignore(co_await response.async_send_file(file_, 0, beck::to_the_end));
    } else {
      co_await describe(request, response);
    }
  }

 private:
  std::string stats() const {
    const http::server_stats now = served_->stats();
    std::uint64_t refused = 0;
    for (const std::uint64_t one : now.refused) refused += one;
    return "connections " + std::to_string(now.connections) + "\naccepted " +
           std::to_string(now.accepted) + "\nexchanges " + std::to_string(now.exchanges) +
           "\nfailed " + std::to_string(now.failed) + "\ncut " + std::to_string(now.cut) +
           "\nrefused " + std::to_string(refused) + "\n";
  }

  beck::task<> send_bytes(http::response& response, std::uint64_t bytes) const {
    while (bytes != 0) {
      const std::size_t now =
          bytes < piece_.size() ? static_cast<std::size_t>(bytes) : piece_.size();
      const auto [ec, sent] =
          co_await beck::async_write(response, beck::buffer(piece_.data(), now));
      if (ec) co_return;
      bytes -= now;
    }
  }

  static beck::task<> describe(http::request& request, http::response& response) {
    adler32 sum;
    std::uint64_t total = 0;
    char part[16384];
    for (;;) {
      const auto [ec, bytes] = co_await request.body().async_read_some(beck::buffer(part));
      if (ec == beck::error::eof) break;
      if (ec) co_return;
      sum.add({part, bytes});
      total += bytes;
    }
    std::string text(request.head().method_text());
    text.append(" ").append(request.target()).append(" ").append(std::to_string(total));
    text.append(" ").append(std::to_string(sum.value())).append("\n");
    response.set(http::field::content_type, "text/plain").send(text);
  }

  beck::random_access_file file_;
  std::string piece_;
  const http::server* served_ = nullptr;
};

/// Writes a line for each request that has arrived.
class request_log {
 public:
  explicit request_log(const std::string& path) : file_(std::fopen(path.c_str(), "a")) {}

  void operator()(const http::exchange_record& record) const {
    std::string line = "- ";
    if (record.request != nullptr) {
      const std::string_view method = record.request->method_text();
      const std::string_view target = record.request->target();
      if (target == "/stats") return;
      line.assign(method).append(" ").append(target);
    } else {
      line.append(http::text_of(record.why));
    }
    std::fprintf(file_, "%s\n", line.c_str());
    std::fflush(file_);
  }

 private:
  std::FILE* file_;
};

beck::task<> announce(http::server& server) {
  std::printf("listening on port %d\n", server.endpoint().port());
  std::fflush(stdout);
  co_return;
}

}  // namespace

int main(int argc, char** argv) {
  const options how = read_options(argc, argv);
  try {
    beck::io_context context;
    peer_handler handler(context, how);
    const http::static_files files(how.folder);
    const http::limits bounds{.bodies = {.body_bytes = body_bytes_max},
                              .connections = how.connections,
                              .idle_timeout = seconds(how.idle_s),
                              .head_timeout = seconds(how.head_s),
                              .send_timeout = seconds(how.response_s)};
    http::server server(
        [&](http::request& q, http::response& r) {
          return how.folder.empty() ? handler(q, r) : files(q, r);
        },
        bounds);
    handler.of(server);
    if (!how.log.empty()) server.on_finish(request_log(how.log));
    server.listen(beck::ip::tcp::endpoint(beck::ip::make_address("127.0.0.1"), 0));
    beck::signal_set signals(context, SIGTERM, SIGINT);
    signals.async_wait([&server](beck::error_code ec, int) {
      if (!ec) server.stop(seconds(1));
    });
    beck::co_spawn(context, server.serve(),
                   [&signals](const std::exception_ptr&) { signals.cancel(); });
    beck::co_spawn(context, announce(server), beck::detached);
    context.run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "peer_server: %s\n", e.what());
    return 1;
  }
}
