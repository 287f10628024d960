// SPDX-License-Identifier: BSL-1.0
//
// One context on the main thread; a child of a task group for each client.
#include "proxy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/task_group.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/http/metrics.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/signal_set.hpp>
#include <beck/run/post.hpp>
#include <beck/transfer/relay.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "cluster_pool.hpp"
#include "cluster_session.hpp"
#include "common/failure.hpp"
#include "common/listening.hpp"
#include "common/service_state.hpp"
#include "counters.hpp"
#include "listeners.hpp"
#include "proxy_command.hpp"
#include "replica_wait.hpp"
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

constexpr std::size_t buffer_bytes = 64 * 1024;  // of each direction
/// Clients above the limit that are still read to their end.
constexpr std::size_t turned_away_max = 64;
constexpr beck::duration see_off_time = beck::duration(1'000'000'000);
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
  fmt::print(stderr,
             "beck-redis-proxy: --max-clients {} is lowered to {}: the process may have {} "
             "descriptors, {} are kept, and a client needs 2\n",
             *asked.clients_max, most, descriptors, kept);
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
    metrics_.emplace(std::move(site), http::limits().connections(scrapers_max));
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
    const auto how = beck::drain(asked_.drain).limit(clients_max_ + turned_away_max + 1);
    co_await beck::task_group::run(body, how);
  }

  void announce() {
    fmt::print("listening: {}", listeners_.places());
    if (metrics_) fmt::print(" http://{}/metrics", beck_apps::text_of(metrics_->endpoint()));
    fmt::print("\n");
    std::fflush(stdout);
    beck_apps::notify_manager("READY=1");
  }

  beck::task<> obey_signals() {
    for (bool again = false;; again = true) {
      auto arrived = co_await signals_.async_wait();
      if (arrived.error()) co_return;
      beck_apps::notify_manager("STOPPING=1");
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
      if (!accepted) continue;  // closed, as nothing else ends an accept
      ++counts_.accepted;
      auto client = std::move(accepted).value();
      const bool is_seated = counts_.clients < clients_max_;
      auto work = is_seated ? serve(std::move(client), seat(counts_.clients))
                            : turn_away(std::move(client), seat(refused_));
      beck::ignore(co_await clients_->async_spawn(std::move(work)));
    }
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
    beck::ignore(co_await beck::timeout(std::move(refused), see_off_time));
  }

  template <class Socket>
  beck::task<> refuse(Socket& client, const std::string& text) {
    beck::ignore(co_await beck::async_write(client, beck::buffer(text)));
    co_await read_to_the_end(client);
  }

  template <class Socket>
  beck::task<> serve(Socket client, seat taken) {
    const seat own = std::move(taken);
    if (cluster_) {
      cluster_session<Socket> session(client, *cluster_, asked_, counts_, all_);
      auto serving = session.run();
      const bool is_to_be_seen_off = co_await std::move(serving);
      if (!is_to_be_seen_off) co_return;
      auto seen_off = read_to_the_end(client);
      beck::ignore(co_await beck::timeout(std::move(seen_off), see_off_time));
      co_return;
    }
    shared_leave left;
    if (shared_) {
      auto sharing = shared_->serve(client);
      left = co_await std::move(sharing);
      if (left.how == shared_end::lost) {
        auto seen_off = read_to_the_end(client);
        beck::ignore(co_await beck::timeout(std::move(seen_off), see_off_time));
      }
      if (left.how != shared_end::moved) co_return;
    }
    if (asked_.server.path.empty()) {
      tcp::socket server(context_);
      co_await serve_over(client, server, left);
    } else {
      local::socket server(context_);
      co_await serve_over(client, server, left);
    }
  }

  /// Connects to the server, and relays between the two. What is left of sharing goes before all
  /// other bytes of the client.
  template <class Client, class Server>
  beck::task<> serve_over(Client& client, Server& server, shared_leave& left) {
    auto connecting = target_.connect(server);
    const auto primary = co_await std::move(connecting);
    if (primary.error()) {
      ++counts_.unreachable;
      const auto why = log_.note_lost(target_.reason(primary.error()));
      const auto text = fmt::format("-ERR beck-redis-proxy {}\r\n", why);
      auto refused = refuse(client, text);
      beck::ignore(co_await beck::timeout(std::move(refused), see_off_time));
      co_return;
    }
    log_.note_reached();
    if (left.rest.empty()) {
      auto answering = answer_front(client, server, left.rest);
      co_await std::move(answering);
    }
    beck::relay_report seen;
    auto count = [&](const beck::relay_report& now) {
      counts_.to_server += now.forth.bytes - seen.forth.bytes;
      counts_.to_clients += now.back.bytes - seen.back.bytes;
      seen = now;
      limit_silence(client, server);
    };
    limit_silence(client, server);
    if (left.wait_bytes != 0) {
      auto covering = cover_earlier_writes(client, server, left);
      co_await std::move(covering);
    }
    if (!left.rest.empty()) {
      const auto wrote = co_await beck::async_write(server, beck::buffer(left.rest));
      counts_.to_server += wrote.value_;  // the relay sees an error, too
      left.rest.clear();
      left.rest.shrink_to_fit();  // the client may stay for long
    }
    auto how = beck::relay_options().only(beck::transfer_mechanism::read_write);
    how.buffer_bytes(buffer_bytes).progress(count);
    auto relaying = beck::async_relay(client, server, how);
    if (target_.may_change()) {
      auto until_switch = beck::when_any(std::move(relaying), target_.left(*primary));
      auto first = co_await std::move(until_switch);
      if (first.index() == 0) {
        const auto done = std::move(first.template get<0>()).value();
        co_await end(client, server, done.error(), seen.back.ended);
      } else {
        co_await leave(client, server);
      }
    } else {
      const auto done = co_await std::move(relaying);
      co_await end(client, server, done.error(), seen.back.ended);
    }
  }

  /// Ends the connection to a former primary, and that of its client, which gets what has come.
  template <class Client, class Server>
  beck::task<> leave(Client& client, Server& server) {
    ++target_.counts().left;
    reset(server);
    auto seen_off = read_to_the_end(client);
    beck::ignore(co_await beck::timeout(std::move(seen_off), see_off_time));
  }

  /// Answers PROXY INFO as long as the first bytes of the client are that. Takes no other bytes but
  /// those of its beginning, which are in `front` then. Returns also if the server sends first, or
  /// one side has ended.
  template <class Client, class Server>
  beck::task<> answer_front(Client& client, Server& server, std::string& front) {
    for (;;) {
      limit_silence(client, server);
      auto both = beck::when_any(client.async_wait(beck::socket_base::wait_read),
                                 server.async_wait(beck::socket_base::wait_read));
      const auto first = co_await std::move(both);
      if (first.index() != 0) co_return;
      const std::string seen = front + first_bytes(client);
      const proxy_info_match found = match_proxy_info(seen);
      if (seen.size() == front.size() || (found.bytes == 0 && !found.may_come)) co_return;
      const std::size_t taken = (found.may_come ? seen.size() : found.bytes) - front.size();
      char room[first_bytes_most];
      beck::ignore(co_await client.async_read_some(beck::buffer(room, taken)));
      front = found.may_come ? seen : std::string();
      if (found.may_come) continue;
      beck::redis::reply_writer text;
      write_proxy_info(all_, text);
      const auto wrote = co_await beck::async_write(client, beck::buffer(text.bytes()));
      counts_.to_clients += wrote.value_;
      if (wrote.error()) co_return;
    }
  }

  template <class Client, class Server>
  void limit_silence(Client& client, Server& server) {
    if (asked_.idle == beck::duration::zero()) return;
    client.expires_after(asked_.idle);
    server.expires_after(asked_.idle);
  }

  /// Carries the end of a relay over to both sides.
  template <class Client, class Server>
  beck::task<> end(Client& client, Server& server, beck::error_code ec, bool is_answered) {
    if (ec == beck::error::timeout) {
      ++counts_.idle;
    } else if (ec == beck::error::connection_reset || ec == beck::error::broken_pipe) {
      ++counts_.broken;
      reset(server);
      if (is_answered) {  // the server has closed, and its last words are on their way
        auto seen_off = read_to_the_end(client);
        beck::ignore(co_await beck::timeout(std::move(seen_off), see_off_time));
      } else {
        reset(client);
      }
    }
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
