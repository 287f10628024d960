// SPDX-License-Identifier: BSL-1.0
// The connections of a client: it makes them, bounds their number for each origin and in all, keeps
// the idle ones, and queues the calls that wait for one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <beck/detail/intrusive_list.hpp>
#include <beck/http/client.hpp>
#include <beck/http/connector.hpp>

#include "base/counter.hpp"
#include "http/client/client_connection.hpp"
#include "http/client/proxy_rules.hpp"

namespace beck::http::detail {

class place_wait;

/// The connections to one origin. It exists while there is a connection, or a waiting call.
struct origin_pool {
  explicit origin_pool(std::string_view key) : name(key) {}

  std::string name;      ///< "http://example.com:80"
  std::size_t open = 0;  ///< connections, also those being made
  beck::detail::intrusive_list<client_connection, &client_connection::origin_hook> idle;
  beck::detail::intrusive_list<place_wait, &place_wait::hook> waiting;
};

/// The default connector: connects over TCP, to names with Happy Eyeballs, or through proxies.
/// Error for https: no_tls, unless it has a layer for it.
class tcp_connector final : public connector {
 public:
  task<io_result<owned_stream>> connect(any_io_executor on, const origin& to) override;
  request_form form(const origin& to) const override;
  void secure(stream_layer& with) noexcept { layer_ = &with; }
  void through(const proxy_rules& by) { rules_ = std::make_shared<const proxy_rules>(by); }

 private:
  stream_layer* layer_ = nullptr;
  std::shared_ptr<const proxy_rules> rules_;  // connections that are being made keep theirs
};

/// The counters of a client. Its thread changes them without a lock, and any thread reads them;
/// client_stats describes them.
struct client_counters {
  client_stats read() const noexcept {
    client_stats now;
    now.connections = connections.get();
    now.idle = idle.get();
    now.waiting = waiting.get();
    now.made = made.get();
    now.reused = reused.get();
    now.discarded = discarded.get();
    now.waits = waits.get();
    now.retries = retries.get();
    now.redirects = redirects.get();
    now.responses = responses.get();
    return now;
  }

  beck::detail::counter connections, idle, waiting, made, reused, discarded, waits, retries,
      redirects, responses;
};

/// The state that all calls of a client share. Thread: that of the context, except for the
/// counters.
class client_pool : public std::enable_shared_from_this<client_pool> {
 public:
  client_pool(any_io_executor executor, const client_options& bounds);
  ~client_pool();

  const any_io_executor& executor() const noexcept { return executor_; }
  const client_options& bounds() const noexcept { return bounds_; }
  client_counters& counters() noexcept { return counters_; }
  client_stats stats() const noexcept { return counters_.read(); }
  void secure(stream_layer& with) noexcept { tcp_.secure(with); }
  void connect_with(connector& how) noexcept { connector_ = &how; }
  void through(const proxy_rules& by) { tcp_.through(by); }
  /// See client::before_call() and client::on_finish(). Own the functions.
  void prepare_with(const callback<call_preparation&>& one) { add_callback(before_calls_, one); }
  void report_to(const callback<const call_record&>& one) { add_callback(observers_, one); }
  const std::vector<callback<call_preparation&>>& before_calls() const noexcept {
    return before_calls_;
  }
  bool has_observer() const noexcept { return !observers_.empty(); }
  void report(const call_record& ended) const {
    for (const auto& one : observers_) one.call(ended);
  }

  /// Returns in `to` an idle connection to the origin `key`, or the place for a new one; waits if
  /// there is neither. Errors: too_many_waiting, operation_aborted.
  task<error_code> acquire(std::string_view key, granted& to);
  /// Makes a connection in a place that was acquired. Errors: those of the connector, connect_late;
  /// the layer may explain them in `why`.
  task<io_result<std::shared_ptr<client_connection>>> connect(place at, url to, std::string& why);

  /// Takes back a connection whose response is whole, and keeps it idle for at most `time`.
  void put_back(const std::shared_ptr<client_connection>& one, duration time);
  /// Called when an idle connection is closed.
  void forget_idle(client_connection& one) noexcept;
  /// Called when a connection is made; remove() when it is closed.
  void add(client_connection& one) noexcept { all_.push_back(one); }
  void remove(client_connection& one) noexcept { all_.erase(one); }
  void close_idle() noexcept;
  /// Ends all connections and waits, because the client is destroyed.
  void close() noexcept;
  bool is_closed() const noexcept { return closed_; }

 private:
  friend class place;
  friend class place_wait;

  origin_pool& find(std::string_view key);
  void drop_if_unused(origin_pool& one) noexcept;
  bool take_idle(origin_pool& from, granted& to) noexcept;
  bool take_place(origin_pool& from, granted& to) noexcept;
  void leave(origin_pool& from) noexcept;
  void hand_on() noexcept;

  template <class Callback>
  static void add_callback(std::vector<Callback>& to, const Callback& one) {
    try {
      to.push_back(one);
    } catch (...) {
      one.destroy();
      throw;
    }
  }

  any_io_executor executor_;
  client_options bounds_;
  client_counters counters_;
  std::vector<callback<call_preparation&>> before_calls_;
  std::vector<callback<const call_record&>> observers_;
  tcp_connector tcp_;
  connector* connector_ = &tcp_;
  stop_source stopping_;
  std::map<std::string_view, std::unique_ptr<origin_pool>> origins_;
  beck::detail::intrusive_list<client_connection, &client_connection::pool_hook> all_;
  beck::detail::intrusive_list<client_connection, &client_connection::idle_hook> idle_;
  std::size_t open_ = 0;
  std::size_t waiting_ = 0;
  std::uint64_t next_ticket_ = 0;
  bool handing_on_ = false;
  bool closed_ = false;
};

/// A client's share of its pool. Tasks under way own further shares.
struct client_handle {
  std::shared_ptr<client_pool> pool;
};

}  // namespace beck::http::detail
