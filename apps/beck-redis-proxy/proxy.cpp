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

#include "common/failure.hpp"
#include "common/listening.hpp"
#include "common/service_state.hpp"
#include "counters.hpp"
#include "listeners.hpp"
#include "replica_wait.hpp"
#include "server_connect.hpp"
#include "server_log.hpp"
#include "shared_pool.hpp"

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
/// The metrics are served after so many turns of the context.
constexpr int turns_max = 4;

/// Returns the limit of clients, lowered to the descriptors that the process may have: each client
/// may need one to the server, too.
std::size_t affordable_clients(const settings& asked) {
  const std::size_t descriptors = beck_apps::raise_descriptor_limit();
  std::size_t kept = descriptors_kept + turned_away_max;
  if (asked.is_shared) kept += asked.shared_connections;
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

/// Lets the last bytes reach the client: a socket that is closed with unread bytes drops them.
template <class Socket>
beck::task<> read_to_the_end(Socket& client) {
  beck::error_code ignored;
  client.shutdown(Socket::shutdown_send, ignored);
  char room[4096];
  while (auto got = co_await client.async_read_some(beck::buffer(room))) {}
}

/// Closes so that the peer sees a reset; a UNIX socket has none.
template <class Socket>
void reset(Socket& socket) {
  beck::error_code ignored;
  socket.set_option(typename Socket::linger(true, 0), ignored);
  socket.close();
}

class proxy {
 public:
  explicit proxy(const settings& asked)
      : asked_(asked),
        clients_max_(affordable_clients(asked)),
        log_(asked.server.url),
        listeners_(context_, asked),
        signals_(context_, SIGINT, SIGTERM, SIGHUP) {
    if (asked.is_shared) shared_.emplace(context_, asked, counts_, log_);
    if (asked.metrics) open_metrics(*asked.metrics);
  }

  /// Relays until a signal. Throws the exception of a part that could not begin.
  void run() {
    beck::co_spawn(context_, whole(), [this](std::exception_ptr error) {
      if (error) failed_ = error;
      signals_.cancel();
      if (shared_) shared_->close();
      if (metrics_) metrics_->stop(beck::duration::zero());
    });
    context_.run();
    if (failed_) std::rethrow_exception(failed_);
  }

 private:
  void open_metrics(const tcp::endpoint& at) {
    http::router site;
    site.get("/metrics", [this](http::request&, http::response& reply) {
      reply.set(http::field::content_type, http::metrics_type);
      std::string text = metrics_text(counts_);
      if (shared_) text += metrics_text(shared_->counts());
      reply.send(std::move(text));
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

  /// Connects to the server, and relays between the two, what is left of sharing before all other
  /// bytes of the client.
  template <class Client, class Server>
  beck::task<> serve_over(Client& client, Server& server, shared_leave& left) {
    auto connecting = connect_server(server, asked_);
    const beck::error_code ec = co_await std::move(connecting);
    if (ec) {
      ++counts_.unreachable;
      const auto text = fmt::format("-ERR beck-redis-proxy {}\r\n", log_.note_lost(ec));
      auto refused = refuse(client, text);
      beck::ignore(co_await beck::timeout(std::move(refused), see_off_time));
      co_return;
    }
    log_.note_reached();
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
    const auto done = co_await beck::async_relay(client, server, how);
    co_await end(client, server, done.error(), seen.back.ended);
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
  std::uint64_t refused_ = 0;  // above the limit, and not yet gone
  beck::io_context context_;
  listeners listeners_;
  beck::signal_set signals_;
  std::optional<http::server> metrics_;
  std::optional<shared_pool> shared_;
  beck::task_group* clients_ = nullptr;
  std::exception_ptr failed_;
};

}  // namespace

void run_proxy(const settings& asked) {
  proxy whole(asked);
  whole.run();
}

}  // namespace beck_redis_proxy
