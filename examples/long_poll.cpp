// SPDX-License-Identifier: BSL-1.0
//
// A long poll: GET /wait responds when somebody sends POST /tell, or with 204 after a while. A
// client that leaves ends its handler: nobody waits for it. So does a stop of the server.
//   long_poll PORT [SECONDS]               port 0: any free one; it is printed
//   curl http://127.0.0.1:PORT/wait & curl -X POST http://127.0.0.1:PORT/tell
#include <beck/coro/event.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "announced.hpp"
#include "number.hpp"

namespace http = beck::http;

namespace {

/// The waiting clients of the one context.
class audience {
 public:
  explicit audience(beck::duration wait) noexcept : wait_(wait) {}

  beck::task<> wait(http::request&, http::response& r) {
    ++waiting_;
    auto came = co_await beck::timeout(news_.wait(), wait_);
    --waiting_;
    // Another error: the client has left, or the server is being stopped. It answers by itself.
    if (came.error() == beck::error::timeout) r.status(204).send();
    if (!came.error()) r.send("news\n");
  }
  void tell(http::response& r) {
    news_.set();
    news_.reset();
    r.send("told\n");
  }
  std::size_t waiting() const noexcept { return waiting_; }

 private:
  beck::duration wait_;
  beck::manual_reset_event news_;
  std::size_t waiting_ = 0;
};

http::router make_site(audience& all) {
  http::router site;
  site.get("/wait", [&all](http::request& q, http::response& r) { return all.wait(q, r); },
           {.waits_for_events = true});
  site.post("/tell", [&all](http::request&, http::response& r) { all.tell(r); });
  site.get("/waiting", [&all](http::request&, http::response& r) {
    r.send(std::to_string(all.waiting()) + '\n');
  });
  return site;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: long_poll PORT [SECONDS]\n");
    return 2;
  }
  try {
    audience all(beck::duration::seconds(argc == 3 ? example::number(argv[2]) : 25));
    http::server server(make_site(all));
    server.listen(beck::ip::make_port(example::number(argv[1])));
    return example::run_announced(server, {.contexts = 1});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "long_poll: %s\n", e.what());
    return 1;
  }
}
