// SPDX-License-Identifier: BSL-1.0
// How connections are made, greeted, received from, lost, and made again.
#include "redis/link.hpp"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/within.hpp>
#include <beck/net/connect_stream.hpp>
#include <beck/net/local.hpp>
#include <beck/net/socket_stream.hpp>

#include "io/loop/io_loop.hpp"
#include "io/loop/loop_access.hpp"
#include "io/system/system.hpp"
#include "redis/lane_pool.hpp"

namespace beck::redis::detail {
namespace {

constexpr std::int64_t connect_pause_first = 50'000'000;  // nanoseconds, doubling
constexpr std::int64_t connect_pause_most = 5'000'000'000;

session_limits limits_of(const client_options& how, const any_io_executor& on, bool is_lane,
                         std::int64_t refused_for, bool leaves_replicas) noexcept {
  session_limits limits;
  limits.leaves_replicas = leaves_replicas;
  limits.is_lane = is_lane;
  limits.in_flight = how.in_flight();
  limits.attempts = how.attempts();
  limits.refused_for = refused_for;
  limits.replies = how.protocol();
  limits.guard = is_lane ? 0 : how.guard();
  if (limits.guard != 0) limits.guard_seed = random_of(on);
  return limits;
}

}  // namespace

std::int64_t time_of(const any_io_executor& executor) noexcept {
  if (beck::detail::runner::current() != nullptr) return beck::detail::loop_time();
  return beck::detail::loop_of(executor).sys().now();
}

std::uint64_t random_of(const any_io_executor& executor) noexcept {
  std::uint64_t random = 0;
  beck::detail::loop_of(executor).sys().random_bytes(&random, sizeof random);
  return random;
}

link::link(const any_io_executor& executor, server_url to, const client_options& how)
    : link(executor, std::move(to), how, how.hold().nanoseconds()) {}

link::link(const any_io_executor& executor, server_url to, const client_options& how,
           std::int64_t refused_for)
    : sender(executor, how),
      to_(std::move(to)),
      session_(limits_of(how, executor, false, refused_for, to_.must_be_primary), this),
      timer_(executor),
      may_leave_(!to_.must_be_primary && refused_for != 0) {}

link::link(link& home)
    : sender(home.executor(), home.bounds()),
      to_(home.to_),
      sentinels_(home.sentinels_ ? shared<sentinels>(*home.sentinels_)
                                 : shared<sentinels>(nullptr)),
      layer_(home.layer_),
      connector_(home.connector_),
      credentials_(home.credentials_),
      session_(limits_of(home.bounds(), home.executor(), true, 0, to_.must_be_primary), nullptr),
      timer_(home.executor()),
      turn_(home.turn_),
      hello_(home.hello_),
      home_(home) {
  place_.of = this;
}

/// A context that is destroyed destroys the coroutines, and with them the last share.
link::~link() {
  lane_hook_.unlink();
  if (greeting_ && greeting_->is_under_way()) session_.forget(*greeting_);
  if (ping_ && ping_->is_under_way()) session_.forget(*ping_);
  if (fence_ && fence_->is_under_way()) session_.forget(*fence_);
  if (tracking_ && tracking_->is_under_way()) session_.forget(*tracking_);
}

client_stats link::stats() const noexcept {
  client_stats now;
  now.waiting = waiting_.get();
  now.in_flight = in_flight_.get();
  now.connections = connections_.get();
  now.writes = writes_.get();
  now.reads = reads_.get();
  now.calls = calls_.get();
  return now;
}

error_code link::start(exchange& one) noexcept {
  if (is_closed_) return beck::error::operation_aborted;
  if (session_.waiting() >= bounds().waiting()) return error::queue_full;
  if (!is_living_ && home_ && connections_.get() != 0) return last_cause_;
  if (const error_code ec = begin_living(); ec) return ec;
  calls_.add();
  session_.submit(one, now());
  publish_counts();
  if (is_ready_) flush_soon();
  return {};
}

/// Starts the coroutines that make and watch connections, if they do not run.
error_code link::begin_living() noexcept {
  if (is_living_) return {};
  try {
    if (sentinels_) sentinels_->join(place_);
    if (!is_watching_) co_spawn(executor(), watch(link_ref(*this)), detached);
    is_watching_ = true;
    co_spawn(executor(), live(life(*this)), detached);
  } catch (const std::bad_alloc&) {
    if (sentinels_) sentinels_->leave(place_);
    return no_memory();
  }
  is_living_ = true;  // from here on the end of a `life` drops the calls
  return {};
}

void link::cancel(exchange& one) noexcept {
  if (session_.stop(one, beck::error::operation_aborted)) return begin_unblocking();
  session_.cancel(one, beck::error::operation_aborted);
  publish_counts();
}

void link::end_waiting() noexcept {
  if (is_ready_) return;
  session_.end_waiting(last_cause_ ? last_cause_ : error_code(beck::error::timeout), INT64_MAX,
                       last_text_);
  publish_counts();
}

void link::close() noexcept {
  if (std::exchange(is_closed_, true)) return;
  if (lanes_) lanes_->close();
  stopping_.request_stop();
  router_.end_all(beck::error::operation_aborted);
  break_connection(beck::error::operation_aborted);
  timer_.cancel();
}

/// Drops all that is under way: the context is being destroyed.
void link::drop_all() noexcept {
  is_closed_ = true;
  is_ready_ = false;
  session_.drop_all();
  router_.drop_all();
}

// --- the life of connections

/// Makes connections as long as calls or subscriptions wait for one, and for a lane only one.
task<> link::live(life self) {
  link& l = *self;
  while (!l.is_closed_ && l.is_needed()) {
    const std::int64_t rest = l.next_at_ - beck::detail::loop_time();
    error_code ec;
    try {
      if (l.stopping_.stop_requested()) l.stopping_ = stop_source();
      if (rest > 0) {
        steady_timer timer(l.executor(), duration(rest));
        beck::ignore(co_await with_stop(l.stopping_.get_token(), timer.async_wait()));
        continue;
      }
      l.cause_ = error_code();
      ec = co_await l.connect();
      if (!ec) ec = co_await l.serve();
    } catch (const std::bad_alloc&) {  // for one of the two
      ec = no_memory();
    }
    if (!l.cause_) l.cause_ = ec;
    l.last_cause_ = l.cause_;
    l.last_text_ = std::exchange(l.text_, std::string());
    const bool was_ready = std::exchange(l.is_ready_, false);
    l.empty_caches();
    if (l.stream_) l.stream_->close();
    l.writer_.stop();
    while (l.writer_.is_writing()) beck::ignore(co_await l.writer_.wait_until_idle());
    l.end_connection(was_ready);
    l.next_at_ = beck::detail::loop_time() + l.pause().nanoseconds();
  }
  if (l.is_closed_) l.session_.end_waiting(beck::error::operation_aborted, INT64_MAX);
  l.publish_counts();
  l.is_living_ = false;
  if (l.sentinels_) l.sentinels_->leave(l.place_);
  l.timer_.cancel();
  if (l.state_ != lane_state::used) l.home_->lanes_->ended(l);
}

task<error_code> link::connect() {
  error_code ec;
  try {
    auto opening = timeout(open(), bounds().connect());
    auto opened = co_await with_stop(stopping_.get_token(), std::move(opening));
    ec = opened.error();
    if (!ec) stream_ = std::move(opened).value();
    if (!ec && home_) keep_alive();
  } catch (const std::system_error& failed) {
    ec = failed.code();
  } catch (const std::bad_alloc&) {
    ec = no_memory();
  }
  if (!ec && is_closed_) ec = beck::error::operation_aborted;
  if (!ec) ec = cause_;  // the primary is another one meanwhile
  co_return ec;
}

/// Asks the program for the login of the next connection.
task<error_code> link::find_login() {
  auto asking = credentials_->next(executor());
  const auto asked = co_await std::move(asking);
  if (!asked.error()) {
    to_.user = (*asked).user();
    to_.password = (*asked).password();
  }
  co_return asked.error();
}

task<io_result<owned_stream>> link::open() {
  io_result<owned_stream> result;
  if (credentials_ != nullptr) {
    result.error_ = co_await find_login();
    if (result.error_) co_return result;
  }
  if (connector_ != nullptr) {
    auto connecting = connector_->connect(executor());
    result = co_await std::move(connecting);
    co_return result;
  }
  if (to_.is_secure && layer_ == nullptr) {
    result.error_ = make_error_code(std::errc::protocol_not_supported);
    co_return result;
  }
  if (sentinels_) {
    result.error_ = co_await find_primary();
    if (result.error_) co_return result;
  }
  const std::string& host = sentinels_ ? leads_to_.host : to_.host;
  if (to_.path.empty()) {
    const std::uint16_t port = sentinels_ ? leads_to_.port : to_.port;
    auto connecting = ip::connect_stream(executor(), host, port);
    result = co_await std::move(connecting);
  } else {
    local::stream_protocol::socket socket(executor());
    const local::stream_protocol::endpoint at(to_.path);
    auto connected = co_await socket.async_connect(at);
    result.error_ = connected.error();
    if (!result.error_) result.value_ = owned_stream(new socket_stream(std::move(socket)));
  }
  if (!result.error() && to_.is_secure) {
    auto secured = layer_->connect(std::move(result.value_), host);
    result = co_await std::move(secured);
  }
  co_return result;
}

/// Greets the server, and receives until the connection ends.
task<error_code> link::serve() {
  error_code ec;
  try {
    session_.connected(beck::detail::loop_time());
    has_heard_ = false;
    const bool says_hello = version() == protocol::resp3 && hello_ == hello_state::usual;
    const bool is_resp2 = version() == protocol::resp2 || hello_ == hello_state::ends;
    if (is_resp2) speak_resp2();
    greet(says_hello ? protocol::resp3 : protocol::resp2, handshake::stage::begin);
    writer_.start(executor(), *stream_);
    writer_.flush();
    timer_.cancel();  // watch() looks at the new connection
    while (!ec) {
      auto got = co_await stream_->receive();
      reads_.add();
      ec = got.error();
      if (ec) break;
      const buffer_lease lease = std::move(got).value();
      const std::string_view bytes(static_cast<const char*>(lease.data()), lease.size());
      router_.set_time(beck::detail::loop_time());
      has_heard_ = true;
      if (may_leave_) session_.leave_replicas(is_left_ || beck::detail::loop_time() >= leave_at_);
      ec = session_.received(bytes, beck::detail::loop_time());
      if (!ec && !is_ready_) ec = end_greeting();
      if (session_.is_at_replica()) leave_replica();
      const bool is_to_end = is_left_ || session_.is_at_replica();
      if (!ec && is_to_end && session_.is_answered()) ec = cause_;
      if (is_ready_ && router_.is_done()) failures_ = 0;
      publish_counts();
      if (!ec && (session_.has_output() || router_.has_commands())) flush_soon();
      if (is_unblocking_) answered_.set();
      const std::int64_t quiet =
          (duration(beck::detail::loop_time()) + bounds().ping()).nanoseconds();
      if (std::min(wake_at(), quiet) < due_) timer_.cancel();
    }
  } catch (const std::bad_alloc&) {
    ec = no_memory();
  }
  co_return ec;
}

void link::greet(protocol version, handshake::stage when) {
  greeting_ = std::make_unique<handshake>(to_, version, bounds().name(), when);
  session_.greet(*greeting_, beck::detail::loop_time());
}

void link::speak_resp2() noexcept {
  session_.use(protocol::resp2);
  router_.set_resp2();
}

/// Looks whether the server has answered the greeting. Returns an error if it has refused.
error_code link::end_greeting() {
  if (!greeting_->is_done()) return {};
  const error_code refusal = greeting_->refusal();
  if (state_ == lane_state::returned) {
    if (refusal) return refusal;
    if (is_outdated()) return beck::error::operation_aborted;
    is_ready_ = true;
    session_.set_ready();
    idle_until_ = (duration(beck::detail::loop_time()) + bounds().idle()).nanoseconds();
    home_->lanes_->put(*this);
    timer_.cancel();
    return {};
  }
  const bool is_greeted = greeting_->when() == handshake::stage::change;
  if (refusal && greeting_->asks_for_resp2()) {
    speak_resp2();
    if (!is_greeted) {
      greet(protocol::resp2, handshake::stage::begin);
      return {};
    }
  } else if (refusal) {
    is_refused_ = greeting_->is_final();
    text_ = greeting_->refusal_text();
    return refusal;
  } else if (hello_ == hello_state::suspected && !is_greeted) {
    // If it does not answer now, it is HELLO. Subscriptions cannot do without.
    if (!router_.is_wanted()) hello_ = hello_state::ends;
    greet(protocol::resp3, handshake::stage::change);
    return {};
  }
  if (greeting_->version() == protocol::resp3) hello_ = hello_state::usual;
  is_ready_ = true;
  connections_.add();
  session_.set_ready();
  timer_.cancel();  // watch() begins to send PINGs
  return {};
}

/// Ends the connection of the session. Requires that the stream is closed, and its write has ended.
void link::end_connection(bool was_ready) noexcept {
  stream_ = owned_stream();
  const std::int64_t now = beck::detail::loop_time();
  was_refused_ = std::exchange(is_refused_, false);
  if (ping_) session_.cancel(*ping_, cause_);
  answered_.set();
  session_.lost(cause_, now);
  router_.lost(now, was_ready);
  router_.end_lost_adds(cause_, bounds().attempts());
  const bool was_hello = greeting_ && !was_ready && greeting_->version() == protocol::resp3;
  greeting_.reset();
  tracking_.reset();
  const bool is_last = home_ && connections_.get() != 0;
  if (was_ready && hello_ == hello_state::ends) hello_ = hello_state::suspected;
  const bool is_cut = cause_ == beck::error::eof || cause_ == std::errc::connection_reset;
  if (was_hello && is_cut && !has_heard_ && hello_ == hello_state::usual)
    hello_ = hello_state::suspected;
  const bool fails_fast = bounds().fails_fast() && !is_left_;
  is_left_ = false;
  if (was_refused_ || fails_fast || is_last) {
    session_.end_waiting(cause_, INT64_MAX, last_text_);
    router_.end_adds(cause_, INT64_MAX);
  }
  publish_counts();
  timer_.cancel();  // watch() begins to look at those that wait
}

/// Sends no more on this connection. Replies that are on their way are still received, up to the
/// end that follows such an error, or to silence().
void link::fail_writing(const error_code& why) noexcept {
  if (!cause_) cause_ = why;
  writer_.stop();
}

void link::break_connection(const error_code& why) noexcept {
  fail_writing(why);
  empty_caches();
  if (stream_) stream_->close();
}

/// Returns how long to wait before the next attempt: a random part of a time that doubles.
duration link::pause() noexcept {
  std::int64_t most = connect_pause_first << (failures_ < 7 ? failures_ : 7);
  if (most > connect_pause_most) most = connect_pause_most;
  ++failures_;
  return duration(
      static_cast<std::int64_t>(random_of(executor()) % static_cast<std::uint64_t>(most)));
}

}  // namespace beck::redis::detail
