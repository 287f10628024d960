// SPDX-License-Identifier: BSL-1.0
//
// One context on the main thread; a child of a task group for each client.
#include "proxy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/task_group.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/http/metrics.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/service_manager.hpp>
#include <beck/io/signal_set.hpp>
#include <beck/run/post.hpp>
#include <csignal>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "cluster_pool.hpp"
#include "cluster_session.hpp"
#include "common/failure.hpp"
#include "common/listening.hpp"
#include "common/output.hpp"
#include "counters.hpp"
#include "listeners.hpp"
#include "relayed_session.hpp"
#include "server_log.hpp"
#include "server_target.hpp"
#include "shared_pool.hpp"
#include "socket_steps.hpp"
#include "statistics.hpp"

namespace beck_redis_proxy {
namespace {

namespace http = beck::http;
using beck::ip::tcp;
using local = beck::local::stream_protocol;

/// Clients above the limit that are still read to their end.
constexpr std::size_t turned_away_max = 64;
/// Descriptors besides those of clients: of the context, its listeners, the metrics, standard ones.
constexpr std::size_t descriptors_kept = 64;
/// Connections to the metrics, which are among those.
constexpr std::size_t scrapers_max = 16;
/// As many as the library takes.
constexpr std::size_t sentinels_max = 32;
/// The metrics are served after so many turns of the context.
constexpr int turns_max = 4;

/// Returns the limit of clients, lowered to the descriptors that the process may have: each client
/// may need one to the server, too.
std::size_t affordable_clients(const settings& asked) {
  const std::size_t descriptors = beck_apps::raise_descriptor_limit();
  std::size_t kept = descriptors_kept + turned_away_max;
  if (asked.is_shared) kept += asked.shared_connections;
  if (asked.server.kind == server_kind::sentinels) kept += sentinels_max;
  if (descriptors < kept + 2)
    throw beck_apps::failure(fmt::format("the limit of {} descriptors is too low: {} are needed",
                                         descriptors, kept + 2));
  const std::size_t most = (descriptors - kept) / 2;
  if (!asked.clients_max) return std::min(clients_usual, most);
  if (*asked.clients_max <= most) return *asked.clients_max;
  beck_apps::say(
      fmt::format("beck-redis-proxy: --max-clients {} is lowered to {}: the process may have {} "
                  "descriptors, {} are kept, and a client needs 2",
                  *asked.clients_max, most, descriptors, kept));
  return most;
}

/// The place of a client among those that count.
class seat {
 public:
  explicit seat(std::uint64_t& taken) : taken_(&taken) { ++taken; }
  seat(seat&& other) noexcept : taken_(std::exchange(other.taken_, nullptr)) {}
  seat& operator=(seat&&) = delete;
  ~seat() {
    if (taken_ != nullptr) --*taken_;
  }

 private:
  std::uint64_t* taken_;
};

class proxy {
 public:
  explicit proxy(const settings& asked)
      : asked_(asked),
        clients_max_(affordable_clients(asked)),
        log_(asked.server.url),
        all_(asked.server.url),
        target_(context_, asked),
        listeners_(context_, asked),
        signals_(context_, SIGINT, SIGTERM, SIGHUP) {
    if (asked.server.kind == server_kind::cluster) cluster_.emplace(context_, asked, log_);
    if (asked.is_shared) shared_.emplace(context_, asked, target_, counts_, all_, log_);
    add_tables();
    if (asked.metrics) open_metrics(*asked.metrics);
  }

  /// Relays until a signal. Throws the exception of a part that could not begin.
  void run() {
    beck::co_spawn(context_, whole(), [this](std::exception_ptr error) {
      if (error) failed_ = error;
      signals_.cancel();
      target_.close();
      if (shared_) shared_->close();
      if (cluster_) cluster_->close();
      if (metrics_) metrics_->stop(beck::duration::zero());
    });
    context_.run();
    if (failed_) std::rethrow_exception(failed_);
  }

 private:
  void add_tables() {
    all_.add([this] { return read(counts_); });
    if (shared_) all_.add([this] { return read(shared_->counts()); });
    if (cluster_) all_.add([this] { return read(cluster_->seen()); });
    if (target_.may_change()) all_.add([this] { return read(target_.counts()); });
  }

  void open_metrics(const tcp::endpoint& at) {
    http::router site;
    site.get("/metrics", [this](http::request&, http::response& reply) {
      reply.set(http::field::content_type, http::metrics_type);
      reply.send(all_.prometheus());
    });
    metrics_.emplace(std::move(site), http::limits{.connections = scrapers_max});
    metrics_->listen(at);
  }

  beck::task<> whole() {
    if (metrics_) {
      metrics_->serve().start(context_, [this](std::exception_ptr error) {
        if (!error) return;
        failed_ = error;
        listeners_.close();
      });
    }
    for (int turns = 0; turns < turns_max; ++turns) co_await beck::post(context_, beck::deferred);
    if (failed_) co_return;
    announce();
    beck::co_spawn(context_, obey_signals(), beck::detached);
    if (target_.may_change()) beck::co_spawn(context_, target_.follow(), beck::detached);
    const auto body = [this](beck::task_group& clients) { return accept_all(clients); };
    // The last one is for a client that is refused at once; until then none is accepted.
    co_await beck::task_group::run(
        body, {.limit = clients_max_ + turned_away_max + 1, .drain_timeout = asked_.drain});
  }

  void announce() {
    std::string line = fmt::format("listening: {}", listeners_.places());
    if (metrics_)
      line += fmt::format(" http://{}/metrics", beck_apps::text_of(metrics_->endpoint()));
    beck_apps::announce(line);
    beck::notify_service_manager("READY=1");
  }

  beck::task<> obey_signals() {
    for (bool again = false;; again = true) {
      auto arrived = co_await signals_.async_wait();
      if (arrived.error()) co_return;
      beck::notify_service_manager("STOPPING=1");
      listeners_.close();
      if (again && clients_ != nullptr) clients_->stop();
    }
  }

  beck::task<> accept_all(beck::task_group& clients) {
    clients_ = &clients;
    auto both =
        beck::when_all(accept_from(listeners_.on_tcp()), accept_from(listeners_.on_local()));
    beck::ignore(co_await std::move(both));
  }

  template <class Acceptor>
  beck::task<> accept_from(Acceptor& acceptor) {
    while (acceptor.is_open()) {
      auto accepted = co_await acceptor.async_accept();
      if (!accepted) {
        if (acceptor.is_open()) fail(accepted.error());
        continue;
      }
      ++counts_.accepted;
      auto client = std::move(accepted).value();
      const bool is_seated = counts_.clients < clients_max_;
      auto work = is_seated ? serve(std::move(client), seat(counts_.clients))
                            : turn_away(std::move(client), seat(refused_));
      beck::ignore(co_await clients_->async_spawn(std::move(work)));
    }
  }

  /// Ends the proxy because a listener has failed: the clients that it has may end first.
  void fail(const beck::error_code& ec) {
    failed_ = std::make_exception_ptr(beck::io_error(ec, "accept"));
    listeners_.close();
  }

  template <class Socket>
  beck::task<> turn_away(Socket client, seat taken) {
    const seat own = std::move(taken);
    ++counts_.turned_away;
    const auto text = fmt::format(
        "-ERR max number of clients reached: beck-redis-proxy --max-clients {}\r\n", clients_max_);
    if (refused_ > turned_away_max) {  // a flood: the present ones must not wait for its end
      beck::ignore(co_await beck::async_write(client, beck::buffer(text)));
      co_return;
    }
    auto refused = refuse(client, text);
    co_await std::move(refused);
  }

  template <class Socket>
  beck::task<> serve(Socket client, seat taken) {
    const seat own = std::move(taken);
    if (cluster_) {
      cluster_session<Socket> session(client, *cluster_, asked_, counts_, all_);
      auto serving = session.run();
      const bool is_to_be_seen_off = co_await std::move(serving);
      if (is_to_be_seen_off) co_await see_off(client);
      co_return;
    }
    shared_leave left;
    if (shared_) {
      auto sharing = shared_->serve(client);
      left = co_await std::move(sharing);
      if (left.how == shared_end::lost || left.how == shared_end::quit) co_await see_off(client);
      if (left.how != shared_end::moved) co_return;
    }
    if (asked_.server.path.empty()) {
      tcp::socket server(context_);
      co_await relay(client, server, left);
    } else {
      local::socket server(context_);
      co_await relay(client, server, left);
    }
  }

  template <class Client, class Server>
  beck::task<> relay(Client& client, Server& server, shared_leave& left) {
    relayed_session<Client, Server> session(client, server, {asked_, target_, counts_, all_, log_});
    auto running = session.run(left);
    co_await std::move(running);
  }

  const settings& asked_;
  const std::size_t clients_max_;
  counters counts_;
  server_log log_;
  statistics all_;
  std::uint64_t refused_ = 0;  // above the limit, and not yet gone
  beck::io_context context_;
  server_target target_;
  listeners listeners_;
  beck::signal_set signals_;
  std::optional<http::server> metrics_;
  std::optional<shared_pool> shared_;
  std::optional<cluster_pool> cluster_;
  beck::task_group* clients_ = nullptr;
  std::exception_ptr failed_;
};

}  // namespace

void run_proxy(const settings& asked) {
  proxy whole(asked);
  whole.run();
}

}  // namespace beck_redis_proxy
