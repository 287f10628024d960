// SPDX-License-Identifier: BSL-1.0
//
// An HTTP server that can be observed: a line in a file for each request, a histogram for each
// route as Prometheus reads it, and an id for each request that both it and its client know.
//   observed_site PORT LOG            port 0: any free one; it is printed
//   curl http://127.0.0.1:PORT/squares/12; curl http://127.0.0.1:PORT/metrics
//   mv LOG LOG.1; kill -HUP PID       opens the log again
#include <beck/coro/co_spawn.hpp>
#include <beck/http/access_log.hpp>
#include <beck/http/metrics.hpp>
#include <beck/http/per_context.hpp>
#include <beck/http/request_id.hpp>
#include <beck/http/route_metrics.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "announced.hpp"
#include "number.hpp"

namespace http = beck::http;

namespace {

/// Opens the log again after each SIGHUP.
class renewal {
 public:
  renewal(beck::io_context& on, http::access_log log)
      : context_(on), signals_(on, SIGHUP), log_(log) {}
  beck::task<> start() {
    beck::co_spawn(context_, obey(), beck::detached);
    co_return;
  }

 private:
  beck::task<> obey() {
    for (;;) {
      auto arrived = co_await signals_.async_wait();
      if (arrived.error()) co_return;
      log_.reopen();
    }
  }

  beck::io_context& context_;
  beck::signal_set signals_;
  http::access_log log_;
};

int serve(std::uint16_t port, const char* path) {
  const http::access_log log(path, {.format = http::log_format::json});
  const http::route_metrics seen;
  const http::server* self = nullptr;
  http::router site;
  site.use(http::request_id());
  site.get("/squares/{number}", [](http::request& q, http::response& r) {
    const auto number = q.param_as<std::uint32_t>("number");  // no number: 404
    r.send(std::to_string(std::uint64_t{number} * number) + '\n');
  });
  site.get("/metrics", [seen, &self](http::request&, http::response& r) {
    r.set(http::field::content_type, http::metrics_type);
    r.send(http::metrics_text(self->stats()) + seen.text());
  });
  http::server server(site);
  self = &server;
  server.on_finish(log);
  server.on_finish(seen);
  server.listen(port);
  http::per_context<renewal> renewals([log](beck::io_context& on) { return renewal(on, log); });
  const int status = example::run_announced(server, {.contexts = 1, .objects = {renewals}});
  log.close();
  if (log.lost() != 0)
    std::fprintf(stderr, "%llu lines were lost\n", static_cast<unsigned long long>(log.lost()));
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: observed_site PORT LOG\n");
    return 2;
  }
  try {
    return serve(beck::ip::make_port(example::number(argv[1])), argv[2]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "observed_site: %s\n", e.what());
    return 1;
  }
}
