// SPDX-License-Identifier: BSL-1.0
//
// IO-less async_read_until with Asio. The re-entrant case does by hand what this version of Asio
// has no name for (bind_immediate_executor came later): async_read_until always posts its
// completion, so the program searches first and dispatches the continuation itself, which runs it
// inline; every 16th time it posts, to break the stack. That is less work than async_read_until
// does, so it is the strongest form that a user of this version can have.
#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/dispatch.hpp>
#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/post.hpp>
#include <asio/read_until.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <chrono>

#include "../common/bystanders.hpp"

namespace {

using protocol = asio::local::stream_protocol;

class reader {
 public:
  explicit reader(bench::meter& m) : meter_(m) {
    set_timer();
    read_second_socket();
  }

  void run(void (reader::*start)()) {
    (this->*start)();
    meter_.start();
    context_.run();
    meter_.finish(reads_);
    bench::require(bytes_ == reads_ * bench::pong_size, "wrong sizes");
    others_.conclude(meter_);
  }

  void start_callback() {
    asio::async_read_until(socket_, asio::dynamic_buffer(buffer_), "\r\n",
                           [this](asio::error_code error, std::size_t n) {
                             if (took(error, n)) start_callback();
                           });
  }

  void start_reentrant() {
    asio::post(context_, [this] { read_reentrant(); });
  }

  void start_coroutine() { asio::co_spawn(context_, read_in_coroutine(), asio::detached); }

 private:
  // False: the run is over.
  bool took(const asio::error_code& error, std::size_t n) {
    bench::require(!error, "async_read_until failed");
    bytes_ += n;
    if (!meter_.over(++reads_)) return true;
    context_.stop();
    return false;
  }

  void read_reentrant() {
    const std::size_t found = buffer_.find("\r\n");
    if (found == std::string::npos) return start_callback();
    auto continuation = [this, n = found + 2] {
      if (took({}, n)) read_reentrant();
    };
    if (++counter_ % 16 == 0)
      asio::post(socket_.get_executor(), std::move(continuation));
    else
      asio::dispatch(socket_.get_executor(), std::move(continuation));
  }

  asio::awaitable<void> read_in_coroutine() {
    for (;;) {
      const std::size_t n = co_await asio::async_read_until(socket_, asio::dynamic_buffer(buffer_),
                                                            "\r\n", asio::use_awaitable);
      if (!took({}, n)) co_return;
    }
  }

  void set_timer() {
    timer_.expires_after(std::chrono::milliseconds(bench::bystanders::timer_period_ms));
    others_.timer_was_set();
    timer_.async_wait([this](asio::error_code error) {
      if (error) return;
      others_.timer_fired();
      set_timer();
    });
  }

  void read_second_socket() {
    second_.async_read_some(asio::buffer(&byte_, 1), [this](asio::error_code error, std::size_t) {
      if (error) return;
      others_.socket_was_read();
      read_second_socket();
    });
  }

  bench::meter& meter_;
  bench::bystanders others_;
  asio::io_context context_{1};
  protocol::socket socket_{context_, protocol(), bench::connected_sockets().near};
  protocol::socket second_{context_, protocol(), others_.watched_socket()};
  asio::steady_timer timer_{context_};
  std::string& buffer_ = bench::pong_buffer();
  char byte_ = 0;
  std::uint64_t reads_ = 0;
  std::uint64_t bytes_ = 0;
  unsigned counter_ = 0;
};

void callback(bench::meter& m) { reader(m).run(&reader::start_callback); }
void reentrant(bench::meter& m) { reader(m).run(&reader::start_reentrant); }
void coroutine(bench::meter& m) { reader(m).run(&reader::start_coroutine); }

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(
      argc, argv, "read_until",
      {{"callback", callback}, {"reentrant", reentrant}, {"coroutine", coroutine}});
}
