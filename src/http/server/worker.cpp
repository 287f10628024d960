// SPDX-License-Identifier: BSL-1.0
// One context of a server: accepting within the limit of connections, and the end, when the last
// connection and the last acceptor have gone.
#include "http/server/worker.hpp"

#include <cstring>
#include <ctime>
#include <exception>
#include <new>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/http/date.hpp>
#include <beck/io/system_timer.hpp>

#include "base/transitions.hpp"

namespace beck::http::detail {
namespace {

constexpr duration memory_pause = duration(10'000'000);  // before another accept without memory
constexpr duration late_max = duration(50'000'000);      // for handshakes that cross the end
constexpr std::size_t queue_max = 4096;  // connections that are accepted from a queue at the end

/// In the order of worker_event.
constexpr beck::detail::transition_table<worker_state, 2> worker_transitions = [] {
  using beck::detail::any_of;
  using enum worker_state;
  return beck::detail::transition_table<worker_state, 2>{{
      /* drain */ {draining, any_of({serving})},
      /* end   */ {ended, any_of({draining})},
  }};
}();

/// Returns whether accepting again cannot help: no connection, lack or filter is behind this error.
bool is_of_listener(const error_code& ec) noexcept {
  return ec == std::errc::invalid_argument || ec == std::errc::operation_not_supported ||
         ec == std::errc::not_a_socket || ec == std::errc::bad_file_descriptor;
}

/// Tells a connection how its coroutine has ended: by itself, or with the context.
class connection_end {
 public:
  explicit connection_end(std::shared_ptr<connection> of) noexcept : of_(std::move(of)) {}
  connection_end(connection_end&& other) noexcept = default;
  connection_end& operator=(connection_end&&) = delete;
  ~connection_end() {
    if (of_ != nullptr) of_->abandon();
  }
  void operator()(const std::exception_ptr&) { std::exchange(of_, nullptr)->ended(); }

 private:
  std::shared_ptr<connection> of_;
};

}  // namespace

std::string_view date_line::view() {
  const std::int64_t now = loop_time();
  if (now >= valid_until_) {
    constexpr long long one_second = 1'000'000'000;
    const long long date = system_now().nanoseconds();
    valid_until_ = now + (one_second - date % one_second);
    std::memcpy(text_, "Date: ", 6);
    std::memcpy(text_ + 6, date_text(date / one_second).view().data(), date_text::bytes);
    std::memcpy(text_ + 6 + date_text::bytes, "\r\n", 2);
  }
  return {text_, bytes};
}

worker::worker(std::shared_ptr<server_state> of, const any_io_executor& executor)
    : server_(std::move(of)),
      executor_(executor),
      counters_(std::make_shared<worker_counters>()),
      grace_timer_(executor),
      room_(*this) {}

void worker::start(beck::detail::result_handler<error_code> ended) {
  BECK_ASSERT(clock_ == nullptr, "a worker is started twice");
  if (listeners_.empty()) open();
  clock_ = std::make_unique<phase_clock>(executor_, bounds(), &on_due);
  room_.start(descriptors_max());
  server_->count_serving(1);
  ended_ = std::move(ended);
  for (const auto& one : listeners_) {
    co_spawn(executor_, accept_loop(shared_from_this(), *one), detached);
    ++accepting_;
  }
  if (server_->add(shared_from_this(), counters_)) drain(duration::zero());
}

/// Accepts until the listener fails, or the server is being stopped and the kernel has no accepted
/// connection left: a close would reset them, and each may be a request that was sent.
task<> worker::accept_loop(std::shared_ptr<worker> self, listener& from) {
  worker& w = *self;
  std::size_t left = queue_max;
  bool was_late = false;
  while (!w.failed_ && !w.cut_.is_set() && left != 0) {
    duration pause;
    try {
      auto one = std::make_shared<connection>(self);
      bool is_open = false;
      if (!w.is_draining()) {
        auto accepted = co_await from.accept(one->carrier().socket(), one->peer);
        is_open = !accepted.error();
        if (!is_open && !w.is_draining()) throw io_error(accepted.error(), "http: accept");
      }
      if (!is_open) {
        --left;
        const error_code ec = from.accept_waiting(one->carrier().socket(), one->peer);
        if (ec == error::would_block) {
          if (was_late || !from.ends_late()) break;
          was_late = true;
        } else if (is_of_listener(ec)) {
          break;
        }
        is_open = !ec;
        pause = was_late ? late_max : memory_pause;
      }
      if (!is_open) {
        ignore(co_await timeout(w.cut_.wait(), pause));
        continue;
      }
      pause = duration();
      if (!w.admit(*one, from)) continue;  // its end closes the socket
      if (w.room_.is_full()) {
        const bool room = co_await w.room_.wait();
        if (!room) break;
      }
      if (w.cut_.is_set()) break;  // accepted while the grace ended, if a handler held the loop
      w.begin(one, from.layer());
    } catch (const std::bad_alloc&) {
      pause = memory_pause;  // one connection is dropped
    } catch (...) {
      w.fail(std::current_exception());
    }
    if (pause != duration()) ignore(co_await timeout(w.cut_.wait(), pause));
  }
  from.close();
  BECK_ASSERT(w.accepting_ != 0, "more loops have ended than were begun");
  --w.accepting_;
  w.end_if_empty();
}

/// Ends the server because a listener has failed: a server that only seems to listen would be found
/// by its clients. The exchanges that have begun may end.
void worker::fail(std::exception_ptr error) noexcept {
  failed_ = std::move(error);
  server_->stop(server::default_grace);
}

/// Starts to serve an accepted connection. Throws std::bad_alloc; then it is forgotten.
void worker::begin(const std::shared_ptr<connection>& one, stream_layer* layer) {
  one->carrier().set_up();
  one->carrier().expect_data();
  add(*one);
  try {
    co_spawn(executor_, connection::serve(one, layer), connection_end(one));
  } catch (...) {
    one->ended();
    throw;
  }
}

/// Counts an accepted connection by the address of its peer. Returns false if there are too many
/// from there.
bool worker::admit(connection& one, const listener& from) noexcept {
  one.is_local = from.is_local();
  if (one.is_local) return true;
  const ip::address address = unmapped(one.peer.address());
  one.peer.address(address);
  const std::size_t most = bounds().per_address;
  if (most == 0 || address.is_loopback() || server_->proxies().has(address)) return true;
  one.is_counted = addresses_.add(address, most);
  if (!one.is_counted) counters_->turned_away.add();
  return one.is_counted;
}

void worker::uncount(connection& one) noexcept {
  if (std::exchange(one.is_counted, false)) addresses_.remove(one.peer.address());
}

void worker::begin_handshake(connection& one) {
  timed_entry* const oldest = clock_->longest_in(phase::handshake);
  if (handshakes_ >= bounds().handshakes && oldest != nullptr) {
    clock_->enter(*oldest, phase::none);
    oldest->owner.lose();
  }
  ++handshakes_;
  clock_->enter(one.requests().timed(), phase::handshake);
}

std::shared_ptr<void>& worker::local(const void* key) {
  for (auto& [known, kept] : locals_)
    if (known == key) return kept;
  return locals_.emplace_back(key, nullptr).second;
}

void worker::add(connection& one) {
  BECK_ASSERT(state_ != worker_state::ended, "a connection begins after the end of its worker");
  all_.push_back(one);
  ++connections_;
  counters_->connections.add();
  counters_->accepted.add();
  room_.add(one);
}

void worker::remove(connection& one) noexcept {
  BECK_ASSERT(one.hook.is_linked() && connections_ != 0, "a connection is removed twice");
  all_.erase(one);
  uncount(one);
  --connections_;
  counters_->connections.subtract();
  room_.remove(one);
  end_if_empty();
}

void worker::on_due(timed_entry& entry, phase was) { entry.owner.on_due(entry, was); }

void worker::drain(duration grace) {
  const bool is_shorter = steady_now() + grace < grace_timer_.expiry();
  if (state_ == worker_state::ended || (is_draining() && !is_shorter)) return;
  grace_timer_.expires_after(grace);
  grace_timer_.async_wait([self = shared_from_this()](const error_code& ec) {
    if (!ec) self->cut_all();
  });
  if (is_draining()) return;
  beck::detail::advance(state_, worker_event::drain, worker_transitions);
  for (const auto& one : listeners_) one->begin_close();
  for (connection& one : all_) one.drain();
  end_if_empty();
}

/// Cuts what is left when the grace is over.
void worker::cut_all() {
  cut_.set();
  for (std::size_t i = 0; i < listeners_.size(); ++i) room_.wake();  // each lets one loop continue
  for (auto at = all_.begin(); at != all_.end();) {
    connection& one = *at;
    ++at;  // a tunnel leaves the list at once
    one.cut();
  }
  if (!forsake_wait_ || state_ == worker_state::ended) return;
  grace_timer_.expires_after(*forsake_wait_);
  grace_timer_.async_wait([self = shared_from_this()](const error_code& ec) {
    if (!ec && self->state_ != worker_state::ended) self->end(error::timeout);
  });
}

void worker::end_if_empty() {
  if (state_ != worker_state::draining || connections_ != 0 || accepting_ != 0) return;
  static_cast<void>(grace_timer_.cancel());
  clock_->stop();
  end(error_code());
}

void worker::end(error_code ec) {
  beck::detail::advance(state_, worker_event::end, worker_transitions);
  server_->count_serving(-1);
  server_->remove(*this);
  auto ended = std::move(ended_);
  ended(ec);
}

}  // namespace beck::http::detail
