// SPDX-License-Identifier: BSL-1.0
//
// Chat rooms for browsers: a page, a WebSocket for each member, and server-sent events with who has
// come and gone. A line is serialised once for all members of a room. Members and listeners that do
// not read are cut: nothing waits for them.
//   web_chat [PORT [CHAIN KEY]]     no port: any free one; it is printed. CHAIN, KEY: for https
#include <beck/coro/channel.hpp>
#include <beck/coro/co_spawn.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <beck/http/target.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/signal_set.hpp>
#include <beck/tls/server_context.hpp>
#include <beck/websocket/accept.hpp>
#include <beck/websocket/codec.hpp>
#include <csignal>
#include <cstdio>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "number.hpp"
#include "web_chat_page.hpp"

namespace http = beck::http;
namespace websocket = beck::websocket;

namespace {

constexpr std::size_t members_max = 1000;
constexpr std::size_t name_bytes_max = 60;

/// Returns whether bytes are UTF-8, as the text of every message must be: a decoder says so.
bool is_text(std::string_view bytes) {
  const websocket::message line(websocket::message_kind::text, beck::buffer(bytes));
  const beck::const_buffer frame = line.frame();
  std::string copy(static_cast<const char*>(frame.data()), frame.size());
  websocket::frame_decoder decoder(websocket::side::client);
  return decoder.decode(beck::buffer(copy)).ends_message;
}

struct member {
  std::string name, room;
  websocket::stream ws;
};

struct listener {
  beck::channel<std::shared_ptr<const std::string>> news{16};
};

class chat {
 public:
  /// GET /rooms/{room}?name=...
  beck::task<> join(http::request& request, http::response& response) {
    std::string name;
    const bool good =
        http::decode_parameter(http::query_parameters(request.query()).get("name"), name);
    const std::string room(request.param("room"));
    if (!good || name.empty() || name.size() > name_bytes_max || room.size() > name_bytes_max ||
        !is_text(name)) {
      response.status(400).send("a name and a room of 1 to 60 bytes of text, please\n");
      co_return;
    }
    if (members_.size() >= members_max || is_taken(name, room)) {
      response.status(409).send("the name is taken, or the house is full\n");
      co_return;
    }
    auto accepted = co_await websocket::accept(
        request, response,
        websocket::accept_options{.limits = websocket::limits{.message_bytes = 4096,
                                                              .queue_bytes = 65'536,
                                                              .drop_when_full = true}});
    if (!accepted) co_return;
    websocket::stream ws = std::move(accepted).value();
    if (is_taken(name, room)) {  // by another member, meanwhile
      beck::ignore(co_await ws.close(websocket::close_code::policy));
      co_return;
    }
    const auto here = members_.emplace(members_.end());
    here->name = name;
    here->room = room;
    here->ws = std::move(ws);
    tell(*here, "- " + name + " has come");
    publish();
    co_await listen(*here);
    tell(*here, "- " + name + " has gone");
    members_.erase(here);
    publish();
  }

  /// GET /events: server-sent events, as the type EventSource of browsers reads them.
  beck::task<> events(http::request& request, http::response& response) {
    response.set(http::field::content_type, "text/event-stream");
    response.set(http::field::cache_control, "no-store");
    if (request.method() == http::method::head) co_return;  // no write would ever fail
    const auto here = listeners_.emplace(listeners_.end());
    std::string text = news();
    for (;;) {
      const auto sent = co_await beck::async_write(response, beck::buffer(text));
      if (!sent) break;
      auto next = co_await here->news.async_receive();
      if (!next) break;  // closed: the listener did not keep up
      text = **next;
    }
    listeners_.erase(here);
  }

  /// Says good-bye to all members.
  void end() {
    for (listener& each : listeners_) each.news.close();
    for (member& each : members_) {
      beck::co_spawn(each.ws.get_executor(),
                     each.ws.close(websocket::close_code::going_away, "the server ends"),
                     [](const std::exception_ptr&, beck::io_result<>) {});
    }
  }

 private:
  beck::task<> listen(member& from) {
    beck::flat_buffer line;
    for (;;) {
      const auto [error, kind] = co_await from.ws.read(line);
      if (error) co_return;
      if (kind != websocket::message_kind::text) {  // its bytes may be no text for the others
        beck::ignore(co_await from.ws.close(websocket::close_code::unsupported));
        co_return;
      }
      tell(from, from.name + ": " + std::string(line.view().data(), line.size()));
    }
  }
  /// Sends a line to all members of the room of `from`; one whose queue is full is cut by that.
  void tell(const member& from, const std::string& text) {
    const websocket::message line(websocket::message_kind::text, beck::buffer(text));
    for (member& each : members_) {
      if (each.room == from.room) beck::ignore(each.ws.send(line));
    }
  }
  /// Sends the news to all listeners.
  void publish() {
    const auto told = std::make_shared<const std::string>(news());
    for (listener& each : listeners_) {
      if (!each.news.try_send(told)) each.news.close();
    }
  }
  bool is_taken(const std::string& name, const std::string& room) const {
    for (const member& each : members_) {
      if (each.name == name && each.room == room) return true;
    }
    return false;
  }
  std::string news() const {
    return "data: " + std::to_string(members_.size()) + " in all rooms\n\n";
  }

  std::list<member> members_;
  std::list<listener> listeners_;
};

}  // namespace

int main(int argc, char** argv) {
  chat all;
  http::router site;
  site.get("/", [](http::request&, http::response& response) {
    response.set(http::field::content_type, "text/html; charset=utf-8")
        .send(example::web_chat_page);
  });
  site.get("/rooms/{room}", [&all](http::request& q, http::response& r) { return all.join(q, r); });
  site.get("/events", [&all](http::request& q, http::response& r) { return all.events(q, r); });
  beck::io_context context;
  http::server server(std::move(site));
  const beck::ip::tcp::endpoint at(beck::ip::tcp::v6(),
                                   beck::ip::make_port(argc > 1 ? example::number(argv[1]) : 0));
  std::optional<beck::tls::server_context> identity;
  if (argc > 3)
    server.listen(at, identity.emplace(argv[2], argv[3]));
  else
    server.listen(at);
  beck::signal_set signals(context, SIGTERM, SIGINT);
  signals.async_wait([&](beck::error_code, int) {
    all.end();
    server.stop();
  });
  server.serve().start(context, [&] { signals.cancel(); });
  while (server.endpoint().port() == 0 && context.poll_one() != 0) continue;
  std::printf("listening on port %d\n", server.endpoint().port());
  std::fflush(stdout);
  context.run();
}
