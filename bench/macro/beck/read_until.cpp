// SPDX-License-Identifier: BSL-1.0
//
// async_read_until without I/O, with beck. The buffered message is found at once: a callback is
// queued, a re-entrant callback runs inside the call through its immediate executor, as deep as the
// runner allows, and a coroutine continues without suspension until its budget is spent.
#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_until.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/local.hpp>
#include <beck/run/bind.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "../common/bystanders.hpp"
#include "../common/flood.hpp"
#include "counters.hpp"

namespace {

using protocol = beck::local::stream_protocol;

class reader {
 public:
  explicit reader(bench::meter& m, std::unique_ptr<bench::flood> flood = nullptr)
      : meter_(m), flood_(std::move(flood)) {
    set_timer();
    read_second_socket();
  }

  void run(void (reader::*start)()) {
    (this->*start)();
    beck_peer::counters counters(context_);
    meter_.start();
    context_.run();
    if (!flood_) meter_.finish(reads_);
    counters.report(reads_, [&](const char* name, double value) { meter_.note(name, value); });
    bench::require(bytes_ == reads_ * bench::pong_size, "wrong sizes");
    others_.conclude(meter_);
    if (flood_) flood_->conclude(meter_);
  }

  void start_callback() {
    beck::async_read_until(socket_, beck::dynamic_buffer(buffer_), "\r\n",
                           [this](beck::error_code error, std::size_t n) {
                             if (took(error, n)) start_callback();
                           });
  }

  void start_reentrant() {
    beck::async_read_until(
        socket_, beck::dynamic_buffer(buffer_), "\r\n",
        beck::bind_immediate_executor(context_.get_executor(),
                                      [this](beck::error_code error, std::size_t n) {
                                        if (took(error, n)) start_reentrant();
                                      }));
  }

  void start_coroutine() { beck::co_spawn(context_, read_in_coroutine(), beck::detached); }

  void start_flooded() {
    flooded_.assign(protocol(), flood_->flooded_socket());
    start_coroutine();
    beck::co_spawn(context_, read_flood(), beck::detached);
  }

 private:
  // Counts a read; returns false if the run is over.
  bool took(const beck::error_code& error, std::size_t n) {
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

  beck::task<> read_in_coroutine() {
    for (;;) {
      const auto [error, n] =
          co_await beck::async_read_until(socket_, beck::dynamic_buffer(buffer_), "\r\n");
      if (!took(error, n)) co_return;
    }
  }

  beck::task<> read_flood() {
    for (;;) {
      const auto [error, n] = co_await flooded_.async_read_some(
          beck::buffer(flood_->buffer(), bench::flood::read_bytes));
      if (error == beck::error::eof) co_return context_.stop();
      bench::require(!error, "the read of the flooded socket failed");
      flood_->took(n);
    }
  }

  void set_timer() {
    timer_.expires_after(std::chrono::milliseconds(bench::bystanders::timer_period_ms));
    others_.timer_was_set();
    timer_.async_wait([this](beck::error_code error) {
      if (error) return;
      others_.timer_fired();
      set_timer();
    });
  }

  void read_second_socket() {
    second_.async_read_some(beck::buffer(&byte_, 1), [this](beck::error_code error, std::size_t) {
      if (error) return;
      others_.socket_was_read();
      read_second_socket();
    });
  }

  bench::meter& meter_;
  bench::bystanders others_;
  std::unique_ptr<bench::flood> flood_;  // only in that case
  beck::io_context context_{beck_peer::context_options(meter_.options())};
  protocol::socket socket_{context_, protocol(), bench::connected_sockets().near};
  protocol::socket second_{context_, protocol(), others_.watched_socket()};
  beck::steady_timer timer_{context_};
  std::string& buffer_ = bench::pong_buffer();
  protocol::socket flooded_{context_};
  char byte_ = 0;
  std::uint64_t reads_ = 0;
  std::uint64_t bytes_ = 0;
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
