// SPDX-License-Identifier: BSL-1.0
//
// The HTTP service with beck::http: a function as the handler. --form coroutine: a coroutine
// instead; middlewares: the function as a route of a router with six middlewares around it.
// --file: static_files, for its folder.
#include <beck/coro/co_spawn.hpp>
#include <beck/http/middlewares.hpp>
#include <beck/http/request_id.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <beck/http/static_files.hpp>
#include <beck/io/io_context.hpp>
#include <beck/net/tcp.hpp>
#include <cstdio>
#include <exception>

#include "../common/http_service.hpp"

namespace {

namespace http = beck::http;
using beck::ip::tcp;

const tcp::endpoint anywhere(beck::ip::make_address("127.0.0.1"), 0);

beck::io_context::options options_of(const bench::http_service& s) {
  const bool ring = s.backend == "io_uring";
  return {.backend = ring ? beck::backend::io_uring : beck::backend::epoll};
}

struct fixed_response {
  const std::string& body;
  bool close;

  void operator()(http::request&, http::response& response) const {
    response.set(http::field::server, bench::http_server_name);
    response.set(http::field::content_type, bench::http_content_type);
    if (!close) response.set(http::field::cache_control, bench::http_filler);
    response.send(body);
  }
};

struct fixed_response_task {
  fixed_response response_with;

  beck::task<> operator()(http::request& request, http::response& response) const {
    response_with(request, response);
    co_return;
  }
};

/// What a site has around its handlers; each of them lets the requests of the benchmark pass.
http::router guarded(const fixed_response& response) {
  http::router site;
  site.use(
      http::request_id(),
      http::add_fields({{"X-Content-Type-Options", "nosniff"}, {"Referrer-Policy", "same-origin"}}),
      http::at_most(100'000), http::rate_limit(1e9, 1'000'000), http::same_origin(),
      http::cors(http::cors_options().origin("https://app.example")));
  site.otherwise(response);
  return site;
}

template <class Handler>
void serve(beck::io_context& context, const Handler& handler) {
  http::server server(handler);
  server.listen(anywhere);
  beck::co_spawn(context, server.serve(), beck::detached);
  context.poll();
  bench::http_ready(server.endpoint().port());
  context.run();
}

}  // namespace

int main(int argc, char** argv) {
  const auto s = bench::http_service::from_arguments(argc, argv);
  try {
    const std::string body = s.body();
    const fixed_response response{body, s.close};
    beck::io_context context(options_of(s));
    if (!s.file.empty()) {
      const auto kept = beck::duration(60'000'000'000);  // as long as nginx keeps them
      serve(context, http::static_files(s.file.substr(0, s.file.rfind('/')),
                                        http::file_options().keep_open(kept)));
    } else if (s.form == "middlewares") {
      serve(context, guarded(response));
    } else if (s.form == "coroutine") {
      serve(context, fixed_response_task{response});
    } else {
      serve(context, response);
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
