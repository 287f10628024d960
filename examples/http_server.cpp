// SPDX-License-Identifier: BSL-1.0
//
// An HTTP server that responds with the small files of one directory. A handler is a coroutine
// here, so other requests are served while it waits for a file.
//   http_server PORT DIRECTORY        port 0: any free one; it is printed
//   ab -c 100 -n 1000000 http://127.0.0.1:PORT/data_4K.html
#include <beck/coro/co_spawn.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/http/media_type.hpp>
#include <beck/http/server.hpp>
#include <beck/http/target.hpp>
#include <beck/io/io_context.hpp>
#include <cstdio>
#include <string>

#include "number.hpp"

namespace http = beck::http;

namespace {

constexpr std::uint64_t file_bytes_max = 1 << 20;

class small_files {
 public:
  explicit small_files(const char* directory) : directory_(directory) {}

  beck::task<> operator()(http::request& request, http::response& response) const {
    char room[256];
    const http::decoded_path asked = http::decode_path(request.path(), beck::buffer(room));
    const std::string name(asked.path.substr(asked.path.empty() ? 0 : 1));
    const bool is_name = !name.empty() && name[0] != '.' && name.find('/') == name.npos;
    if (asked.error != http::path_error::none || !is_name) {
      response.status(http::status::not_found).send("no such file\n");
      co_return;
    }
    const std::string path = directory_ + '/' + name;
    beck::random_access_file file(response.get_executor());
    const auto opened = co_await file.async_open(path.c_str(), beck::file_object::read_only);
    if (!opened || file.size() > file_bytes_max) {
      response.status(http::status::not_found).send("no such file\n");
      co_return;
    }
    std::string text(file.size(), '\0');
    const auto [ec, bytes] = co_await beck::async_read_at(file, 0, beck::buffer(text));
    if (ec) {
      response.status(http::status::internal_server_error).send("the file cannot be read\n");
      co_return;
    }
    response.set(http::field::content_type, http::media_type_of(name)).send(text);
  }

 private:
  std::string directory_;
};

beck::task<> announce(http::server& server) {
  if (server.endpoint().port() == 0) co_return;  // it could not listen
  std::printf("listening on port %d\n", server.endpoint().port());
  std::fflush(stdout);
  co_return;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: http_server PORT DIRECTORY\n");
    return 2;
  }
  try {
    beck::io_context context;
    http::server server(small_files{argv[2]});
    server.listen(beck::ip::make_port(example::number(argv[1])));
    std::exception_ptr failed;
    beck::co_spawn(context, server.serve(), [&failed](std::exception_ptr e) { failed = e; });
    beck::co_spawn(context, announce(server), beck::detached);
    context.run();
    if (failed) std::rethrow_exception(failed);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "http_server: %s\n", e.what());
    return 1;
  }
}
