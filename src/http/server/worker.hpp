// SPDX-License-Identifier: BSL-1.0
// One serve() of a server: the acceptors, connections, limits and counters of one context. Nothing
// in it is shared with other contexts but the counters, which any thread may read.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <beck/base/assert.hpp>
#include <beck/coro/event.hpp>
#include <beck/http/server.hpp>

#include "http/server/connection.hpp"
#include "http/server/connection_room.hpp"
#include "http/server/phase_clock.hpp"
#include "http/server/server_state.hpp"

namespace beck::http::detail {

/// The text of the field Date, made anew once a second.
class date_line {
 public:
  static constexpr std::size_t bytes = 37;
  /// Returns "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n".
  std::string_view view();

 private:
  char text_[bytes];
  std::int64_t valid_until_ = INT64_MIN;  // by loop_time()
};

enum class worker_state : std::uint8_t {
  serving,   ///< or about to
  draining,  ///< it ends with its last connection
  ended,     ///< serve() has completed
};

enum class worker_event : std::uint8_t {
  drain,  ///< the server is being stopped
  end,    ///< the last connection has gone, or is not waited for any more
};

/// One serve(). Thread: that of the context, but for counters.
class worker : public std::enable_shared_from_this<worker> {
 public:
  worker(std::shared_ptr<server_state> of, const any_io_executor& executor);

  /// Opens the acceptors; connections wait in their queues until start(). Throws io_error.
  void open() { listeners_ = server_->open_listeners(executor_); }
  /// Starts to accept; opens the acceptors before if open() was not called. Calls `ended` once,
  /// when the last connection has gone after drain(). Throws io_error; then nothing has started.
  void start(beck::detail::result_handler<error_code> ended);
  /// Ends `wait` after the grace of drain() with error::timeout if handlers are left that ignore
  /// it. By default they are waited for.
  void forsake_after(duration wait) noexcept { forsake_wait_ = wait; }
  /// Begins to end; see server::stop().
  void drain(duration grace);

  const limits& bounds() const noexcept { return server_->bounds(); }
  server_state& server() noexcept { return *server_; }
  const any_io_executor& executor() const noexcept { return executor_; }
  phase_clock& clock() noexcept { return *clock_; }
  date_line& date() noexcept { return date_; }
  bool is_draining() const noexcept { return state_ != worker_state::serving; }
  /// Returns whether the grace of a stop is over.
  bool is_cut() noexcept { return cut_.is_set(); }
  connection_room& room() noexcept { return room_; }
  worker_counters& counters() noexcept { return *counters_; }
  std::size_t connections() const noexcept { return connections_; }
  /// Throws what has ended this worker, if that was the failure of a listener.
  void check() const {
    if (failed_) std::rethrow_exception(failed_);
  }

  /// Returns the place of a handler's object for this context; empty at first. `key`: its address.
  std::shared_ptr<void>& local(const void* key);

  /// A connection is in the list as long as its coroutine runs.
  void add(connection& one);
  void remove(connection& one) noexcept;
  /// Forgets the address of a connection that was counted by it.
  void uncount(connection& one) noexcept;
  /// Called when a connection begins a handshake: at their limit the oldest one ends.
  void begin_handshake(connection& one);
  void end_handshake() noexcept {
    BECK_ASSERT(handshakes_ != 0, "a handshake ends twice");
    --handshakes_;
  }

 private:
  static task<> accept_loop(std::shared_ptr<worker> self, listener& from);
  static void on_due(timed_entry& entry, phase was);
  bool admit(connection& one, const listener& from) noexcept;
  void begin(const std::shared_ptr<connection>& one, stream_layer* layer);
  void fail(std::exception_ptr error) noexcept;
  void end_if_empty();
  void end(error_code ec);
  void cut_all();

  std::shared_ptr<server_state> server_;
  any_io_executor executor_;
  std::shared_ptr<worker_counters> counters_;
  std::unique_ptr<phase_clock> clock_;
  steady_timer grace_timer_;
  date_line date_;
  std::vector<std::unique_ptr<listener>> listeners_;
  std::vector<std::pair<const void*, std::shared_ptr<void>>> locals_;
  std::size_t accepting_ = 0;  // loops that run
  std::size_t connections_ = 0;
  std::size_t handshakes_ = 0;  // under way
  beck::detail::intrusive_list<connection, &connection::hook> all_;
  address_count addresses_;  // of connections that are limited by their address
  connection_room room_;
  beck::detail::result_handler<error_code> ended_;
  std::exception_ptr failed_;  // of a listener
  manual_reset_event cut_;     // set when the grace is over
  std::optional<duration> forsake_wait_;
  worker_state state_ = worker_state::serving;
};

// --- of a connection, on the way of each request

inline bool handler_run::has_observer() const noexcept {
  return connection_.server_worker().server().has_observer();
}

/// The operation behind server::serve(): a stop of its scope drains instead of cutting.
class serve_operation : public op<serve_operation, void(error_code)> {
 public:
  static constexpr const char* waits_for = "http server";

  explicit serve_operation(std::shared_ptr<worker> of) noexcept : worker_(std::move(of)) {}
  serve_operation(serve_operation&& other) noexcept
      : op(static_cast<op&&>(other)), worker_(std::move(other.worker_)) {}

  void initiate(handler done) { worker_->start(std::move(done)); }
  // NOLINTNEXTLINE(bugprone-exception-escape): without memory the program ends
  void cancel() noexcept { worker_->drain(server::default_grace); }

 private:
  std::shared_ptr<worker> worker_;
};

}  // namespace beck::http::detail
