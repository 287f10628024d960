// SPDX-License-Identifier: BSL-1.0
//
// async_read_until without I/O, with Asio. This version of Asio always posts the completion of
// async_read_until (bind_immediate_executor came later). So in the re-entrant case the program
// searches first and dispatches the continuation itself, which runs it inline; every 16th time it
// posts, to limit the stack. That is less work than async_read_until does, so it is the fastest
// form that a user of this version can have.
#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/dispatch.hpp>
#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/post.hpp>
#include <asio/read_until.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "../common/bystanders.hpp"
#include "../common/flood.hpp"

namespace {

using protocol = asio::local::stream_protocol;

class reader {
 public:
  explicit reader(bench::meter& m, std::unique_ptr<bench::flood> flood = nullptr)
      : meter_(m), flood_(std::move(flood)) {
    set_timer();
    read_second_socket();
  }

  void run(void (reader::*start)()) {
    (this->*start)();
    meter_.start();
    context_.run();
    if (!flood_) meter_.finish(reads_);
    bench::require(bytes_ == reads_ * bench::pong_size, "wrong sizes");
    others_.conclude(meter_);
    if (flood_) flood_->conclude(meter_);
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

  void start_flooded() {
    flooded_.assign(protocol(), flood_->flooded_socket());
    start_coroutine();
    asio::co_spawn(context_, read_flood(), asio::detached);
  }

 private:
  // Counts a read; returns false if the run is over.
  bool took(const asio::error_code& error, std::size_t n) {
    bench::require(!error, "async_read_until failed");
    bytes_ += n;
    if (!meter_.over(++reads_)) return true;
    end();
    return false;
  }

  // Ends the run. The rest of a flood is compared and counted after the measured part.
  void end() {
    if (!flood_) return context_.stop();
    meter_.finish(reads_);
    flood_->stop_writing();
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

  asio::awaitable<void> read_flood() {
    for (;;) {
      asio::error_code error;
      const std::size_t n = co_await flooded_.async_read_some(
          asio::buffer(flood_->buffer(), bench::flood::read_bytes),
          asio::redirect_error(asio::use_awaitable, error));
      if (error == asio::error::eof) {
        context_.stop();
        co_return;
      }
      bench::require(!error, "the read of the flooded socket failed");
      flood_->took(n);
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
  std::unique_ptr<bench::flood> flood_;  // only in that case
  asio::io_context context_{1};
  protocol::socket socket_{context_, protocol(), bench::connected_sockets().near};
  protocol::socket second_{context_, protocol(), others_.watched_socket()};
  asio::steady_timer timer_{context_};
  std::string& buffer_ = bench::pong_buffer();
  protocol::socket flooded_{context_};
  char byte_ = 0;
  std::uint64_t reads_ = 0;
  std::uint64_t bytes_ = 0;
  unsigned counter_ = 0;
};

void callback(bench::meter& m) { reader(m).run(&reader::start_callback); }
void reentrant(bench::meter& m) { reader(m).run(&reader::start_reentrant); }
void coroutine(bench::meter& m) { reader(m).run(&reader::start_coroutine); }
void flooded(bench::meter& m) {
  reader(m, std::make_unique<bench::flood>(m.options())).run(&reader::start_flooded);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "read_until",
                          {{"callback", callback},
                           {"reentrant", reentrant},
                           {"coroutine", coroutine},
                           {"flooded", flooded}});
}
