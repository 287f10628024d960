// SPDX-License-Identifier: BSL-1.0
// Four hosts with a context each, and a hand that disturbs them for the first minutes.
#include "simulation/cluster.hpp"

#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/tcp.hpp>
#include <beck/testing/sim.hpp>
#include <optional>
#include <string>
#include <utility>

namespace beck::test {
using namespace detail;
namespace {

using tcp = ip::tcp;
namespace sim = testing::sim;

constexpr std::size_t question_bytes = 8;
constexpr duration patience(5'000'000'000);
constexpr duration pause(500'000'000);
constexpr unsigned disturbances = 12;
constexpr unsigned disturbance_ms_max = 20'000;

/// One incarnation of the server's program.
class server {
 public:
  explicit server(sim::host& where) : ctx_(where), acceptor_(ctx_, tcp::endpoint(tcp::v4(), 80)) {
    ctx_.on_log([](const char*, void*) {});
    co_spawn(ctx_, accept_all(), detached);
  }

 private:
  task<> accept_all() {
    for (;;) {
      auto accepted = co_await acceptor_.async_accept();
      if (accepted.error()) co_return;
      co_spawn(ctx_, answer(std::move(accepted).value()), detached);
    }
  }

  /// The answer is the question, backwards.
  static task<> answer(tcp::socket socket) {
    for (;;) {
      char question[question_bytes];
      const auto read = co_await async_read(socket, buffer(question));
      if (read.error()) co_return;
      char backwards[question_bytes];
      for (std::size_t i = 0; i < question_bytes; ++i) {
        backwards[i] = question[question_bytes - 1 - i];
      }
      const auto sent = co_await async_write(socket, buffer(backwards));
      if (sent.error()) co_return;
    }
  }

  io_context ctx_;
  tcp::acceptor acceptor_;
};

/// Asks until it has all answers; one connection for each attempt, with a time-out.
class client {
 public:
  client(sim::host& where, unsigned number, cluster_result& result)
      : ctx_(where), socket_(ctx_), timer_(ctx_), number_(number), result_(result) {
    co_spawn(ctx_, ask_all(), detached);
  }

  std::uint64_t outstanding() const { return ctx_.stats().outstanding; }

 private:
  task<> ask_all() {
    for (unsigned i = 0; i < cluster_result::questions_each; ++i) {
      const std::string question = "q" + std::to_string(1'000'000 + number_ * 1000 + i);
      for (;;) {
        const bool answered = co_await ask(question);
        if (answered) break;
        ++result_.retries;
        timer_.expires_after(pause);
        const auto waited = co_await timer_.async_wait();
        if (waited.error()) co_return;
      }
    }
  }

  task<bool> ask(const std::string& question) {
    timer_.expires_after(patience);
    timer_.async_wait([this](error_code ec) {
      if (!ec) socket_.close();
    });
    const bool answered = co_await exchange(question);
    timer_.cancel();
    socket_.close();
    co_return answered;
  }

  task<bool> exchange(const std::string& question) {
    const tcp::endpoint where(ip::make_address("10.0.0.1"), 80);
    const auto connected = co_await socket_.async_connect(where);
    if (connected.error()) co_return false;
    const auto sent = co_await async_write(socket_, buffer(question));
    if (sent.error()) co_return false;
    char answer[question_bytes];
    const auto read = co_await async_read(socket_, buffer(answer));
    if (read.error()) co_return false;
    ++result_.answers;
    if (std::string(question.rbegin(), question.rend()) != std::string(answer, question_bytes)) {
      ++result_.wrong_answers;
    }
    co_return true;
  }

  io_context ctx_;
  tcp::socket socket_;
  steady_timer timer_;
  unsigned number_;
  cluster_result& result_;
};

}  // namespace

cluster_result run_cluster(sim::world& world) {
  cluster_result result;
  sim::random_source& random = world.random();
  world.configure(sim::settings().with(sim::faults().set(sim::fault::silence, 0.002)));
  sim::host& at_server = world.host("server");
  std::optional<server> running(at_server);
  std::optional<client> asking[cluster_result::clients];
  for (unsigned i = 0; i < cluster_result::clients; ++i) {
    asking[i].emplace(world.host("client" + std::to_string(i)), i, result);
  }
  for (unsigned i = 0; i < disturbances; ++i) {
    sim::host& some = world.host("client" + std::to_string(random.below(cluster_result::clients)));
    switch (random.below(5)) {
      case 0:
        ++result.partitions;
        world.partition(at_server, some);
        break;
      case 1:
        world.path(at_server, some).cut();
        break;
      case 2:
        world.link(at_server, some).clog();
        break;
      case 3:
        if (!at_server.is_up()) break;
        ++result.crashes;
        at_server.crash();
        running.reset();
        break;
      default:
        world.heal();
        break;
    }
    world.run_for(duration(1'000'000LL * static_cast<long long>(random.below(disturbance_ms_max))));
    world.link(at_server, some).unclog();
    if (!at_server.is_up() && random.chance(0.5)) {
      at_server.restart();
      running.emplace(at_server);
    }
  }
  world.heal();
  if (!at_server.is_up()) {
    at_server.restart();
    running.emplace(at_server);
  }
  for (int i = 0; i < 60; ++i) {  // the clock may leap to the end of any of these minutes
    world.run_for(duration(60'000'000'000));
  }
  for (const auto& c : asking) result.outstanding += c->outstanding();
  return result;
}

std::string cluster_program(sim::world& world) {
  const cluster_result r = run_cluster(world);
  if (r.wrong_answers != 0) return "an answer is wrong";
  if (r.answers != cluster_result::clients * cluster_result::questions_each) {
    return "a client that retried got no answer";
  }
  return r.outstanding == 0 ? "" : "operations are left";
}

}  // namespace beck::test
