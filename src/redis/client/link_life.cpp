// SPDX-License-Identifier: BSL-1.0
// How connections are made, greeted, received from, lost, and made again.
#include <algorithm>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <beck/coro/timeout.hpp>
#include <beck/coro/within.hpp>

#include "redis/client/lane_pool.hpp"
#include "redis/client/link.hpp"

namespace beck::redis::detail {
namespace {

/// A server at the URL's address that says it is a replica is left at most so often: it may be the
/// only one.
constexpr std::int64_t leave_pause = 1'000'000'000;

}  // namespace

/// Makes connections as long as calls or subscriptions wait for one, and for a lane only one.
task<> link::live(life self) {
  link& l = *self;
  while (!l.is_closed_ && l.is_needed()) {
    const std::int64_t rest = l.plan_.next_at() - beck::detail::loop_time();
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
    l.plan_.end_attempt();
    const bool was_ready = l.is_ready();
    l.change(link_event::lose);
    l.pushes_.empty_caches();
    if (l.stream_) l.stream_->close();
    l.writer_.stop();
    while (l.writer_.is_writing()) beck::ignore(co_await l.writer_.wait_until_idle());
    l.end_connection(was_ready);
    l.plan_.put_off(beck::detail::loop_time());
  }
  if (l.is_closed_) l.session_.end_waiting(beck::error::operation_aborted, INT64_MAX);
  l.publish_counts();
  l.change(link_event::rest);
  l.plan_.leave();
  l.clock_.look();
  if (l.lane_ && l.lane_->state() != lane_state::used) l.lane_->home().lanes().ended(l);
}

task<error_code> link::connect() {
  error_code ec;
  try {
    auto opening = timeout(plan_.open(), bounds().connect_timeout);
    auto opened = co_await with_stop(stopping_.get_token(), std::move(opening));
    ec = opened.error();
    if (!ec) stream_ = std::move(opened).value();
    if (!ec && lane_) lane_->keep_alive();
  } catch (const std::system_error& failed) {
    ec = failed.code();
  } catch (const std::bad_alloc&) {
    ec = no_memory();
  }
  if (!ec && is_closed_) ec = beck::error::operation_aborted;
  if (!ec) ec = cause_;  // the primary is another one meanwhile
  co_return ec;
}

/// Greets the server, and receives until the connection ends.
task<error_code> link::serve() {
  error_code ec;
  try {
    change(link_event::connect);
    session_.connected(beck::detail::loop_time());
    has_heard_ = false;
    if (plan_.is_resp2()) speak_resp2();
    greet(plan_.says_hello() ? protocol::resp3 : protocol::resp2, handshake::stage::begin);
    writer_.start(executor(), *stream_);
    writer_.flush();
    clock_.look();
    while (!ec) {
      auto got = co_await stream_->receive();
      reads_.add();
      ec = got.error();
      if (!ec) ec = take(std::move(got).value());
    }
  } catch (const std::bad_alloc&) {
    ec = no_memory();
  }
  co_return ec;
}

/// Takes what was received. Returns why the connection ends here. Throws std::bad_alloc.
error_code link::take(const buffer_lease& received) {
  const std::int64_t now = beck::detail::loop_time();
  push_router& router = pushes_.router();
  router.set_time(now);
  has_heard_ = true;
  if (may_leave_) session_.leave_replicas(is_left_ || now >= leave_at_);
  error_code ec = session_.received({received.data(), received.size()}, now);
  if (!ec && !is_ready()) ec = end_greeting();
  if (session_.is_at_replica()) leave_replica();
  const bool is_to_end = is_left_ || session_.is_at_replica();
  if (!ec && is_to_end && session_.is_answered()) ec = cause_;
  if (is_ready() && router.is_done()) plan_.forgive();
  publish_counts();
  if (!ec && (session_.has_output() || router.has_commands())) writer_.schedule();
  if (lane_) lane_->note_answer();
  clock_.look_before(
      std::min<std::int64_t>(wake_at(), (duration(now) + bounds().ping_interval).nanoseconds()));
  return ec;
}

void link::greet(protocol version, handshake::stage when) {
  greeting_ = std::make_unique<handshake>(plan_.url(), version, bounds().name, when);
  session_.greet(*greeting_, beck::detail::loop_time());
}

void link::speak_resp2() noexcept {
  session_.use(protocol::resp2);
  pushes_.router().set_resp2();
}

/// Looks whether the server has answered the greeting. Returns an error if it has refused.
error_code link::end_greeting() {
  if (!greeting_->is_done()) return {};
  const handshake::verdict said = greeting_->judge();
  if (lane_ && lane_->state() == lane_state::returned) {
    if (said.why) return said.why;
    if (lane_->is_outdated()) return beck::error::operation_aborted;
    be_ready();
    lane_->put_back();
    return {};
  }
  const bool is_greeted = greeting_->when() == handshake::stage::change;
  if (said.answer == handshake::answer::no_resp3) {
    speak_resp2();
    if (!is_greeted) {
      greet(protocol::resp2, handshake::stage::begin);
      return {};
    }
  } else if (said.why) {
    plan_.refuse(said.answer == handshake::answer::refused_for_good, std::string(said.text));
    return said.why;
  } else if (!is_greeted && plan_.asks_again(!pushes_.router().is_wanted())) {
    greet(protocol::resp3, handshake::stage::change);
    return {};
  }
  if (greeting_->version() == protocol::resp3) plan_.note_resp3();
  connections_.add();
  be_ready();
  return {};
}

void link::be_ready() noexcept {
  change(link_event::be_ready);
  session_.set_ready();
  clock_.look();  // it begins to send PINGs
}

/// Ends the connection of the session. Requires that the stream is closed, and its write has ended.
void link::end_connection(bool was_ready) noexcept {
  stream_ = owned_stream();
  const std::int64_t now = beck::detail::loop_time();
  push_router& router = pushes_.router();
  clock_.cancel_ping(session_, cause_);
  if (lane_) lane_->end_connection();
  session_.lost(cause_, now);
  router.lost(now, was_ready, cause_, bounds().attempts);
  const bool was_hello = greeting_ && !was_ready && greeting_->version() == protocol::resp3;
  greeting_.reset();
  pushes_.end_connection();
  const bool is_last = lane_ && connections_.get() != 0;
  const bool is_cut = cause_ == beck::error::eof || cause_ == std::errc::connection_reset;
  plan_.note_end(was_ready, was_hello && is_cut && !has_heard_);
  const bool fails_fast = bounds().fails_fast && !is_left_;
  is_left_ = false;
  if (plan_.was_refused() || fails_fast || is_last) {
    session_.end_waiting(cause_, INT64_MAX, plan_.last_text());
    router.end_adds(cause_, INT64_MAX);
  }
  publish_counts();
  clock_.look();  // it begins to look at those that wait
}

/// Sends no more on this connection. Replies that are on their way are still received, up to the
/// end that follows such an error, or to silence_timeout.
void link::fail_writing(const error_code& why) noexcept {
  if (!cause_) cause_ = why;
  writer_.stop();
}

void link::break_connection(const error_code& why) noexcept {
  fail_writing(why);
  pushes_.empty_caches();
  if (stream_) stream_->close();
}

/// Sends no more to a server that has said that it is a replica. Replies to commands that were sent
/// are still received.
void link::leave_replica() noexcept {
  if (cause_) return;
  is_left_ = true;
  if (may_leave_) leave_at_ = now() + leave_pause;
  leave_lanes();
  fail_writing(error::readonly);
}

}  // namespace beck::redis::detail
