// SPDX-License-Identifier: BSL-1.0
// Contexts that other threads have run are destroyed, thousands of them, in the middle of reads,
// accepts, calls on files, waits for timers and for child processes. After each round everything
// that the tasks and the un-run handlers owned is gone: handlers, descriptors, ports, children.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/task.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/io/pipe.hpp>
#include <beck/io/process.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/tcp.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "support/context_options.hpp"
#include "support/endless_tasks.hpp"
#include "support/open_descriptors.hpp"
#include "support/scale.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::ip::tcp;
using beck::test::scaled;
using beck::test::stream_pair;
using life = std::shared_ptr<int>;

namespace {

constexpr std::size_t large = 16384;  // waits for readiness on every backend
constexpr std::size_t small = 64;

/// What there is in a round besides what each has.
struct contents {
  bool bounces = false;
  bool files = false;
  bool port = false;
  bool process = false;
};

beck::task<> read_for_ever(stream_pair pair, std::size_t bytes, life) {
  std::string space(bytes, ' ');
  for (;;) {
    const auto got = co_await pair.a.async_read_some(beck::buffer(space));
    if (got.error()) co_return;
  }
}

beck::task<> bounce(stream_pair pair, life) { co_await beck::test::bounce(pair); }

beck::task<> read_pipe(beck::io_context& ctx, life) {
  beck::readable_pipe from(ctx);
  beck::writable_pipe to(ctx);
  beck::connect_pipe(from, to);
  std::array<char, small> space;
  for (;;) {
    const auto got = co_await from.async_read_some(beck::buffer(space));
    if (got.error()) co_return;
  }
}

beck::task<> read_files(beck::io_context& ctx, life) { co_await beck::test::read_files(ctx); }

beck::task<> accept_for_ever(tcp::acceptor acceptor, life) {
  for (;;) {
    const auto accepted = co_await acceptor.async_accept();
    if (!accepted) co_return;
  }
}

/// A child and its input, which goes after it: at an end of input the child would exit by itself.
struct fed_child {
  beck::writable_pipe input;
  beck::process child;
};

beck::task<> wait_for_child(fed_child fed, life) { beck::ignore(co_await fed.child.async_wait()); }

beck::task<> wait_for_hours(beck::io_context& ctx, life) {
  beck::steady_timer timer(ctx, 1h);
  beck::ignore(co_await timer.async_wait());
}

/// Says when the context has been running for `ticks` ticks of a timer, and stops it or goes on.
beck::task<> tick(beck::io_context& ctx, int ticks, bool stops, std::atomic<bool>& reached, life) {
  for (;;) {
    if (ticks-- == 0) {
      if (stops) ctx.stop();
      reached.store(true);
      reached.notify_one();
    }
    beck::steady_timer timer(ctx, 20us);
    beck::ignore(co_await timer.async_wait());
  }
}

/// Returns an address of the loopback network that no other process of these tests binds or
/// connects from, so that nobody else takes a port of it that was just freed.
beck::ip::address own_address() {
  const auto id = static_cast<unsigned>(::getpid());
  return beck::ip::make_address("127." + std::to_string(128U + (id >> 16U) % 64U) + '.' +
                                std::to_string((id >> 8U) % 256U) + '.' +
                                std::to_string(id % 256U));
}

/// A handler that never runs, and what it owns.
struct unfinished {
  unfinished(beck::io_context& ctx, life token) : pair(ctx), held(std::move(token)) {}
  stream_pair pair;
  std::array<char, large> space;
  life held;
};

class round_of {
 public:
  round_of(const beck::io_context::options& how, contents what)
      : ctx_(std::make_unique<beck::io_context>(how)) {
    beck::io_context& ctx = *ctx_;
    ctx.on_log(
        [](const char* line, void* said) {
          if (std::strstr(line, "for nothing that") != nullptr) *static_cast<bool*>(said) = true;
        },
        &said_lost_);
    spawn(read_for_ever(stream_pair(ctx), large, token_));
    spawn(read_for_ever(stream_pair(ctx), small, token_));
    if (what.bounces) spawn(bounce(stream_pair(ctx), token_));
    spawn(read_pipe(ctx, token_));
    spawn(wait_for_hours(ctx, token_));
    auto kept = std::make_shared<unfinished>(ctx, token_);
    kept->pair.a.async_read_some(beck::buffer(kept->space),
                                 [kept](beck::error_code, std::size_t) {});
    if (what.files) spawn(read_files(ctx, token_));
    if (what.port) listen();
    if (what.process) start_process();
  }

  /// Until other threads have run it for a while.
  void run(int threads, int ticks, bool stops_itself) {
    std::atomic<bool> reached{false};
    spawn(tick(*ctx_, ticks, stops_itself, reached, token_));
    std::vector<std::thread> runners;
    for (int i = 0; i < threads; ++i) runners.emplace_back([this] { ctx_->run(); });
    reached.wait(false);
    if (!stops_itself) ctx_->stop();
    for (std::thread& each : runners) each.join();
  }

  /// Whether everything is gone, and no task was taken for a lost one.
  bool end() {
    ctx_.reset();
    return !said_lost_ && token_.use_count() == 1 && is_port_free() && is_child_gone();
  }

 private:
  void spawn(beck::task<> work) { beck::co_spawn(*ctx_, std::move(work), beck::detached); }

  void listen() {
    tcp::acceptor acceptor(*ctx_, tcp::endpoint(own_address(), 0));
    bound_ = acceptor.local_endpoint();
    spawn(accept_for_ever(std::move(acceptor), token_));
  }

  void start_process() {
    beck::writable_pipe input(*ctx_);
    beck::process child(*ctx_, "cat", {}, beck::process_options().in(input).out(nullptr));
    child_ = child.id();
    spawn(wait_for_child({std::move(input), std::move(child)}, token_));
  }

  bool is_port_free() const {
    if (bound_.port() == 0) return true;
    beck::io_context ctx({.backend = beck::backend::epoll});
    tcp::acceptor acceptor(ctx);
    acceptor.open(tcp::v4());
    beck::error_code ec;
    acceptor.bind(bound_, ec);
    return !ec;
  }

  /// It was ended; that it is collected by the way needs another process object.
  bool is_child_gone() const {
    if (child_ < 0) return true;
    siginfo_t info{};
    const auto id = static_cast<id_t>(child_);
    if (::waitid(P_PID, id, &info, WEXITED | WNOWAIT) == 0 && info.si_status != SIGKILL)
      return false;
    beck::io_context ctx({.backend = beck::backend::epoll});
    beck::process next(ctx);
    beck::error_code ec;
    next.spawn("/nowhere/at/all", {}, {}, ec);
    return ::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0;
  }

  life token_ = std::make_shared<int>(0);
  tcp::endpoint bound_;
  int child_ = -1;
  bool said_lost_ = false;
  std::unique_ptr<beck::io_context> ctx_;
};

void check_rounds(const beck::io_context::options& how, int threads, int rounds) {
  const bool real = beck::test::current_backend() != beck::test::on_sim;
  round_of first(how, {real, real, real, real});  // what is made once stays
  first.run(threads, 1, true);
  CHECK(first.end());
  const std::size_t before = beck::test::open_descriptors().size();
  int bad = 0;
  int leaking = 0;
  for (int i = 0; i < rounds; ++i) {
    round_of round(how, {real, real && i % 2 == 0, real && i % 4 == 0, real && i % 16 == 0});
    round.run(threads, i % 5, !real || i % 2 == 0);
    if (!round.end()) ++bad;
    if (beck::test::open_descriptors().size() != before) ++leaking;
  }
  CHECK(bad == 0);
  CHECK(leaking == 0);
  beck::test::report_value("destroyed_contexts", rounds);
}

}  // namespace

CONFORMANCE("contexts that another thread has run leave nothing behind when they are destroyed") {
  const bool sim = where == beck::test::on_sim;
  check_rounds(context_options(), 1, sim ? scaled(200, 1'000) : scaled(400, 4'000));
}

CONFORMANCE_ON(beck::test::epoll,
               "contexts that several threads have run leave nothing behind when they go") {
  check_rounds(context_options({.threads = 2}), 2, scaled(200, 1'000));
}
