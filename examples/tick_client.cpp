// SPDX-License-Identifier: BSL-1.0
//
// Reads server-sent events, and prints the name, the id and the data of each. When a stream ends it
// connects again, from where it was, as a browser does; it ends itself after some events.
//   tick_client URL EVENTS
#include <beck/coro/co_spawn.hpp>
#include <beck/http/client.hpp>
#include <beck/http/event_reader.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/steady_timer.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "number.hpp"

namespace http = beck::http;

namespace {

/// Reads events until there were enough, or the server refuses to give more.
class listener {
 public:
  listener(beck::io_context& context, std::string url, long events)
      : web_(context, {.body_rate = 0, .body_timeout = beck::duration::seconds(60)}),
        pause_(context),
        url_(std::move(url)),
        left_(events) {}

  /// Returns whether there were enough.
  beck::task<bool> run() {
    while (left_ > 0) {
      http::call ask(web_, http::method::get, url_);
      ask.set(http::field::accept, "text/event-stream");
      if (!last_id_.empty()) ask.set("Last-Event-ID", last_id_);
      auto got = co_await ask.async_finish();
      if (!got.error()) {
        const http::client_response stream = std::move(got).value();
        if (stream.status() != http::status::ok) co_return false;  // 204: there are no more
        co_await listen(stream);
      }
      if (left_ == 0) break;
      pause_.expires_after(retry_);
      beck::ignore(co_await pause_.async_wait());
    }
    co_return true;
  }

 private:
  beck::task<> listen(const http::client_response& stream) {
    http::event_reader events(stream.body(), {}, last_id_);
    while (left_ > 0) {
      auto one = co_await events.next();
      if (one.error()) break;
      std::printf("%s %s %s\n", one->name.c_str(), one->id.c_str(), one->data.c_str());
      std::fflush(stdout);
      --left_;
    }
    last_id_ = events.last_id();
    if (events.retry() != beck::duration()) retry_ = events.retry();
  }

  http::client web_;
  beck::steady_timer pause_;
  const std::string url_;
  std::string last_id_;
  beck::duration retry_ = beck::duration::seconds(3);
  long left_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: tick_client URL EVENTS\n");
    return 2;
  }
  try {
    beck::io_context context;
    listener one(context, argv[1], example::number(argv[2]));
    bool enough = false;
    one.run().start(context, [&](bool done) {
      enough = done;
      context.stop();  // no connection is worth waiting for
    });
    context.run();
    return enough ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tick_client: %s\n", e.what());
    return 1;
  }
}
