// SPDX-License-Identifier: BSL-1.0
//
// Ping-pong with beck, in the two styles of the other peers: callbacks that own their session, and
// coroutines. It uses the default, polymorphic executor, and results by value.
#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/local.hpp>
#include <memory>

#include "../common/pingpong.hpp"
#include "counters.hpp"

namespace {

using socket_type = beck::local::stream_protocol::socket;

struct session {
  beck::io_context& context;
  bench::match& match;
  socket_type socket;
  bench::player player;

  session(beck::io_context& c, bench::match& m, const bench::seat& s)
      : context(c), match(m), socket(c, beck::local::stream_protocol(), s.fd), player(m, s) {}

  void broken(const beck::error_code& error) {
    match.broken(error == beck::error::eof ? 0 : error.value());
    context.stop();
  }
};

void run(bench::match& match, beck::io_context& context) {
  beck_peer::counters counters(context);
  match.start();
  context.run();
  match.finish();
  counters.report(match.sent(), [&](const char* name, double value) { match.note(name, value); });
}

void do_write(std::unique_ptr<session> self);

void do_read(std::unique_ptr<session> self) {
  session& s = *self;
  s.socket.async_read_some(beck::buffer(s.player.data(), bench::player::message_size),
                           [self = std::move(self)](beck::error_code error, std::size_t n) mutable {
                             if (error) return self->broken(error);
                             self->player.take(n);
                             do_write(std::move(self));
                           });
}

void do_write(std::unique_ptr<session> self) {
  session& s = *self;
  beck::async_write(s.socket, beck::buffer(s.player.data(), bench::player::message_size),
                    [self = std::move(self)](beck::error_code error, std::size_t) mutable {
                      if (error) return self->broken(error);
                      if (!self->player.sent()) return self->context.stop();
                      do_read(std::move(self));
                    });
}

void callbacks(bench::match& match) {
  beck::io_context context(beck_peer::context_options(match.options()));
  for (const bench::seat& s : match.seats()) {
    auto self = std::make_unique<session>(context, match, s);
    if (s.opens)
      do_write(std::move(self));
    else
      do_read(std::move(self));
  }
  run(match, context);
}

beck::task<> play(session self, bool opens) {
  const auto data = beck::buffer(self.player.data(), bench::player::message_size);
  if (opens) {
    const auto [error, n] = co_await beck::async_write(self.socket, data);
    if (error) co_return self.broken(error);
    if (!self.player.sent()) self.context.stop();
  }
  for (;;) {
    const auto [error, n] = co_await self.socket.async_read_some(data);
    if (error) co_return self.broken(error);
    self.player.take(n);
    const auto [write_error, written] = co_await beck::async_write(self.socket, data);
    if (write_error) co_return self.broken(write_error);
    if (!self.player.sent()) self.context.stop();
  }
}

void coroutines(bench::match& match) {
  beck::io_context context(beck_peer::context_options(match.options()));
  for (const bench::seat& s : match.seats())
    beck::co_spawn(context, play(session(context, match, s), s.opens), beck::detached);
  run(match, context);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_pingpong(argc, argv, {{"callback", callbacks}, {"coroutine", coroutines}});
}
