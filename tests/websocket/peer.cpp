// SPDX-License-Identifier: BSL-1.0
// The program that peers.sh runs beside foreign clients and servers.
//   websocket_peer serve         echoes at /echo, pushes at /push, a page for browsers at /; prints
//                                its port, and the results that the page sends
//   websocket_peer connect URL   echoes through a foreign server; ends with 0 if all is right
#include <beck/coro/co_spawn.hpp>
#include <beck/http/client.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <beck/io/io_context.hpp>
#include <beck/websocket/accept.hpp>
#include <beck/websocket/connect.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

namespace http = beck::http;
namespace websocket = beck::websocket;
using websocket::message_kind;

namespace {

constexpr std::string_view page = R"page(<!doctype html><title>peer</title><script>
const url = location.origin.replace('http', 'ws');
const report = text => fetch('/result?' + encodeURIComponent(text));
function echo() {
  const sizes = [0, 1, 125, 126, 65535, 65536, 1000000];
  const socket = new WebSocket(url + '/echo', ['nothing', 'peer']);
  socket.binaryType = 'arraybuffer';
  let at = 0;
  const next = () => {
    if (at === 2 * sizes.length) return socket.close(4000, 'all of it');
    const size = sizes[at >> 1];
    socket.send(at & 1 ? new Uint8Array(size).fill(200) : '\u20ac'.repeat(size / 3));
  };
  socket.onopen = next;
  socket.onmessage = ({data}) => {
    const size = sizes[at >> 1];
    const good = at & 1 ? data.byteLength === size && new Uint8Array(data).every(b => b === 200)
                        : data === '\u20ac'.repeat(size / 3);
    if (!good) report('a wrong echo of ' + size);
    ++at;
    next();
  };
  socket.onclose = end => {
    const good = end.wasClean && end.code === 4000 && at === 2 * sizes.length;
    if (!good || socket.protocol !== 'peer' || socket.extensions !== '')
      return report(`an end with ${end.code} at ${at}, ${socket.protocol} ${socket.extensions}`);
    push();
  };
}
function push() {
  const socket = new WebSocket(url + '/push');
  let lines = 0;
  socket.onmessage = ({data}) => { if (data === 'line ' + lines) ++lines; };
  socket.onclose = end =>
      report(end.code === 1001 && end.reason === 'that was all' && lines === 1000
                 ? 'good' : `${lines} lines, ${end.code} ${end.reason}`);
}
echo();
</script>)page";

/// Sends every message back.
beck::task<> echo(http::request& q, http::response& r) {
  const auto most = websocket::limits{.frame_bytes = 1 << 20, .message_bytes = 1 << 20};
  auto accepted = co_await websocket::accept(
      q, r, websocket::accept_options{.protocols = "peer", .limits = most});
  if (!accepted) co_return;
  websocket::stream ws = std::move(accepted).value();
  beck::flat_buffer message;
  for (;;) {
    auto [ec, kind] = co_await ws.read(message);
    if (ec) co_return;
    beck::ignore(co_await ws.write(kind, message.data()));
  }
}

/// Sends a thousand lines, and closes.
beck::task<> push(http::request& q, http::response& r) {
  auto accepted = co_await websocket::accept(q, r);
  if (!accepted) co_return;
  websocket::stream ws = std::move(accepted).value();
  for (int i = 0; i < 1000; ++i) {
    const std::string line = "line " + std::to_string(i);
    beck::ignore(co_await ws.write(message_kind::text, beck::buffer(line)));
  }
  beck::ignore(co_await ws.close(websocket::close_code::going_away, "that was all"));
}

int serve() {
  http::router site;
  site.get("/", [](http::request&, http::response& r) {
    r.set(http::field::content_type, "text/html").send(page);
  });
  site.get("/echo", echo);
  site.get("/push", push);
  site.get("/result", [](http::request& q, http::response& r) {
    std::printf("result: %.*s\n", static_cast<int>(q.query().size()), q.query().data());
    std::fflush(stdout);
    r.send("noted\n");
  });
  beck::io_context context;
  http::server server(std::move(site));
  server.listen(beck::ip::tcp::endpoint(beck::ip::address_v4::loopback(), 0));
  server.serve().start(context, [] {});
  while (server.endpoint().port() == 0 && context.poll_one() != 0) continue;
  std::printf("listening on port %d\n", server.endpoint().port());
  std::fflush(stdout);
  context.run();
  return 1;
}

/// Ends the program with the reason of an error.
void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

beck::task<> check_echoes(http::client& web, std::string url) {
  const auto most = websocket::limits{.frame_bytes = 4 << 20, .message_bytes = 4 << 20};
  auto made = co_await websocket::connect(web, url, websocket::connect_options{.limits = most});
  require(!made.error(), "connect: " + made.error().message());
  websocket::stream ws = std::move(made).value();
  beck::flat_buffer message;
  for (const std::size_t bytes : {0U, 1U, 125U, 126U, 65535U, 65536U, 1'000'000U}) {
    for (const message_kind kind : {message_kind::text, message_kind::binary}) {
      const std::string data(bytes, kind == message_kind::text ? 'x' : '\xfe');
      auto sent = co_await ws.write(kind, beck::buffer(data));
      require(!sent.error(), "write: " + sent.error().message());
      auto got = co_await ws.read(message);
      require(!got.error(), "read: " + ws.error_text());
      require(*got == kind && std::string_view(message.view().data(), message.size()) == data,
              "a wrong echo of " + std::to_string(bytes));
    }
  }
  auto end = co_await ws.close(static_cast<websocket::close_code>(4000), "all of it");
  require(!end.error(), "close: " + ws.error_text());
  require(ws.peer_code() == static_cast<websocket::close_code>(4000), "another close code");
}

int connect(const char* url) {
  beck::io_context context;
  http::client web(context);
  int status = 0;
  co_spawn(context, check_echoes(web, url), [&](std::exception_ptr failed) {
    try {
      if (failed) std::rethrow_exception(failed);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "websocket_peer: %s\n", e.what());
      status = 1;
    }
  });
  context.run();
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "serve" && argc == 2) return serve();
  if (what == "connect" && argc == 3) return connect(argv[2]);
  std::fprintf(stderr, "usage: websocket_peer serve | connect URL\n");
  return 2;
}
