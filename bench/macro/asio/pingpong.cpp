// SPDX-License-Identifier: BSL-1.0
//
// Ping-pong with Asio, in its two usual styles: callbacks that own their session, and coroutines
// with use_awaitable. It uses the default, polymorphic executor and a concurrency hint of 1.
#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <memory>

#include "../common/pingpong.hpp"

namespace {

using socket_type = asio::local::stream_protocol::socket;

struct session {
  asio::io_context& context;
  bench::match& match;
  socket_type socket;
  bench::player player;

  session(asio::io_context& c, bench::match& m, const bench::seat& s)
      : context(c), match(m), socket(c, asio::local::stream_protocol(), s.fd), player(m, s) {}

  void broken(const asio::error_code& error) {
    match.broken(error == asio::error::eof ? 0 : error.value());
    context.stop();
  }
};

void do_write(std::unique_ptr<session> self);

void do_read(std::unique_ptr<session> self) {
  session& s = *self;
  s.socket.async_read_some(asio::buffer(s.player.data(), bench::player::message_size),
                           [self = std::move(self)](asio::error_code error, std::size_t n) mutable {
                             if (error) return self->broken(error);
                             self->player.take(n);
                             do_write(std::move(self));
                           });
}

void do_write(std::unique_ptr<session> self) {
  session& s = *self;
  asio::async_write(s.socket, asio::buffer(s.player.data(), bench::player::message_size),
                    [self = std::move(self)](asio::error_code error, std::size_t) mutable {
                      if (error) return self->broken(error);
                      if (!self->player.sent()) return self->context.stop();
                      do_read(std::move(self));
                    });
}

void callbacks(bench::match& match) {
  asio::io_context context(1);
  for (const bench::seat& s : match.seats()) {
    auto self = std::make_unique<session>(context, match, s);
    if (s.opens)
      do_write(std::move(self));
    else
      do_read(std::move(self));
  }
  match.start();
  context.run();
  match.finish();
}

asio::awaitable<void> play(session self, bool opens) {
  const auto data = asio::buffer(self.player.data(), bench::player::message_size);
  try {
    if (opens) {
      co_await asio::async_write(self.socket, data, asio::use_awaitable);
      if (!self.player.sent()) self.context.stop();
    }
    for (;;) {
      const std::size_t n = co_await self.socket.async_read_some(data, asio::use_awaitable);
      self.player.take(n);
      co_await asio::async_write(self.socket, data, asio::use_awaitable);
      if (!self.player.sent()) self.context.stop();
    }
  } catch (const asio::system_error& e) {
    self.broken(e.code());
  }
}

void coroutines(bench::match& match) {
  asio::io_context context(1);
  for (const bench::seat& s : match.seats())
    asio::co_spawn(context, play(session(context, match, s), s.opens), asio::detached);
  match.start();
  context.run();
  match.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_pingpong(argc, argv, {{"callback", callbacks}, {"coroutine", coroutines}});
}
