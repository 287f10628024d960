// SPDX-License-Identifier: BSL-1.0
//
// The HTTP service over TLS with beck::http and beck::tls: a fixed response, as in http.cpp. --form
// FOLDER: where chain.pem and key.pem are.
#include <beck/coro/co_spawn.hpp>
#include <beck/http/server.hpp>
#include <beck/io/io_context.hpp>
#include <beck/net/tcp.hpp>
#include <beck/tls/server_context.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "../common/http_service.hpp"

namespace http = beck::http;
using beck::ip::tcp;

int main(int argc, char** argv) {
  const auto s = bench::http_service::from_arguments(argc, argv);
  try {
    const std::string body = s.body();
    const bool ring = s.backend == "io_uring";
    beck::io_context context(beck::io_context::options{.backend = ring ? beck::backend::io_uring
                                                                       : beck::backend::epoll});
    beck::tls::server_context identity(s.form + "/chain.pem", s.form + "/key.pem");
    http::server server([&body](http::request&, http::response& response) {
      response.set(http::field::server, bench::http_server_name);
      response.set(http::field::content_type, bench::http_content_type);
      response.set(http::field::cache_control, bench::http_filler);
      response.send(body);
    });
    server.listen(tcp::endpoint(beck::ip::make_address("127.0.0.1"), 0), identity);
    beck::co_spawn(context, server.serve(), beck::detached);
    context.poll();
    bench::http_ready(server.endpoint().port());
    context.run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
