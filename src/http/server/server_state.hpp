// SPDX-License-Identifier: BSL-1.0
// The state that all contexts of a server share: handler, limits, endpoints and counters.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <beck/http/server.hpp>

#include "base/counter.hpp"
#include "http/server/listener.hpp"
#include "http/server/peer_addresses.hpp"

namespace beck::http::detail {

class worker;

/// The counters of one serve(). One thread changes them without a lock or a locked instruction, and
/// any thread reads them; server_stats describes them.
struct worker_counters {
  void add_to(server_stats& sum) const noexcept {
    sum.connections += connections.get();
    sum.accepted += accepted.get();
    sum.turned_away += turned_away.get();
    sum.evicted += evicted.get();
    sum.handshakes_failed += handshakes_failed.get();
    sum.taken_over += taken_over.get();
    sum.exchanges += exchanges.get();
    sum.failed += failed.get();
    sum.cut += cut.get();
    for (std::size_t i = 0; i < 64; ++i) sum.refused[i] += refused[i].get();
  }

  beck::detail::counter connections, accepted, turned_away, evicted, handshakes_failed, taken_over,
      exchanges, failed, cut;
  beck::detail::counter refused[64];
};

/// The shared state of a server. Thread: any for functions with a lock, others before the first
/// serve().
class server_state {
 public:
  server_state(void* handler, const handler_table& table, const limits& bounds) noexcept;
  ~server_state() {
    table_.destroy(handler_);
    for (const auto& one : observers_) one.destroy();
    for (const auto& one : handshake_observers_) one.destroy();
    if (page_function_) page_function_->destroy();
  }
  server_state(const server_state&) = delete;
  server_state& operator=(const server_state&) = delete;

  const limits& bounds() const noexcept { return bounds_; }
  const handler_table& table() const noexcept { return table_; }
  void* handler() const noexcept { return handler_; }

  void listen(listening_place&& where) { places_.push_back(std::move(where)); }
  void share_ports(bool on) noexcept { share_ports_ = on; }
  /// Returns whether ended exchanges are reported.
  bool has_observer() const noexcept { return !observers_.empty(); }
  void report(const exchange_record& ended) const {
    for (const auto& one : observers_) one.call(ended);
  }
  void report(const handshake_record& failed) const {
    for (const auto& one : handshake_observers_) one.call(failed);
  }
  /// Adds an observer, and owns it. Throws std::bad_alloc.
  void report_to(const callback<const exchange_record&>& one) { add(observers_, one); }
  void report_to(const callback<const handshake_record&>& one) { add(handshake_observers_, one); }
  /// Replaces the function for error pages, and owns the new one.
  void make_pages_with(const callback<error_page&>& function) noexcept {
    if (page_function_) page_function_->destroy();
    page_function_ = function;
  }
  /// Lets the program change an error page. Throws what its function throws.
  void change_page(error_page& page) const {
    if (page_function_) page_function_->call(page);
  }
  void behind_proxy(std::string_view proxies, field how);
  const proxy_list& proxies() const noexcept { return proxies_; }
  /// Returns the address of a peer, or the one that a proxy reports in `head`.
  ip::address client_address(const request_head& head, const ip::address& peer,
                             bool is_local) const noexcept {
    return detail::client_address(head, forwarded_in_, proxies_, peer, is_local);
  }
  ip::tcp::endpoint endpoint(std::size_t index) const;
  server_stats stats() const noexcept;

  /// Opens a listener for each endpoint. Throws io_error, std::logic_error without endpoints.
  std::vector<std::unique_ptr<listener>> open_listeners(const any_io_executor& executor);
  /// Adds a worker for stop() to reach, and keeps its counters for good. Returns whether the server
  /// was stopped before.
  bool add(const std::shared_ptr<worker>& one, std::shared_ptr<worker_counters> counters);
  /// Removes a worker that has ended: afterwards stop() never touches its context.
  void remove(const worker& one) noexcept;
  void stop(duration grace) noexcept;
  /// Makes is_stopping() true, and does nothing else.
  /// Relaxed, as the read: only the value matters.
  void announce_stop() noexcept { stopping_.store(true, std::memory_order_relaxed); }
  bool is_stopping() const noexcept { return stopping_.load(std::memory_order_relaxed); }
  /// Counts the contexts that serve. Relaxed: a share of the descriptors need not be exact.
  void count_serving(int change) noexcept {
    serving_.fetch_add(static_cast<std::size_t>(change), std::memory_order_relaxed);
  }
  std::size_t serving() const noexcept {
    return std::max<std::size_t>(serving_.load(std::memory_order_relaxed), 1);
  }

 private:
  template <class Callback>
  static void add(std::vector<Callback>& to, const Callback& one) {
    try {
      to.push_back(one);
    } catch (...) {
      one.destroy();
      throw;
    }
  }

  void* handler_;
  handler_table table_;
  limits bounds_;
  std::vector<callback<const exchange_record&>> observers_;
  std::vector<callback<const handshake_record&>> handshake_observers_;
  std::optional<callback<error_page&>> page_function_;
  proxy_list proxies_;
  field forwarded_in_ = field::x_forwarded_for;
  bool share_ports_ = false;
  std::atomic<std::size_t> serving_{0};

  mutable std::mutex mutex_;
  std::vector<listening_place> places_;
  std::vector<std::weak_ptr<worker>> workers_;
  std::vector<std::shared_ptr<worker_counters>> counters_;
  bool stopped_ = false;
  std::atomic<bool> stopping_{false};
};

/// A server's share of its state. Tasks of serve() own further shares.
struct server_handle {
  std::shared_ptr<server_state> state;
};

}  // namespace beck::http::detail
