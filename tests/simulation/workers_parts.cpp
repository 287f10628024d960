// SPDX-License-Identifier: BSL-1.0
// The parts.
#include "simulation/workers_parts.hpp"

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/coro/within.hpp>
#include <beck/io/read_write.hpp>
#include <beck/run/bind.hpp>
#include <utility>

namespace beck::test {
using namespace detail;

task<> workshop::wait() {
  steady_timer timer(ctx, some_time());
  const time_point due = timer.expiry();
  const auto waited = co_await timer.async_wait();
  rules.expect(!waited.error(), "a timer failed");
  rules.expect(steady_now() >= due, "a timer ended early");
}

// --- strands -----------------------------------------------------------------------------------

watched_strand::watched_strand(workshop& in)
    : in_(in), strand_(make_strand(in.ctx)), noise_(in.ctx), listener_(in.ctx) {
  connect_pair(noise_, listener_);
}

void watched_strand::visit() {
  enter();
  if (in_.random.below(4) != 0) {
    static constexpr char sound = 0;
    auto heard = [this, once = expected_once(in_.rules)](error_code, std::size_t) mutable {
      enter();
      once.happened();
      leave();
    };
    in_.rules.started();
    noise_.async_write_some(buffer(&sound, 1), bind_executor(strand_, std::move(heard)));
  }
  leave();
}

// --- a conversation ----------------------------------------------------------------------------

conversation::conversation(workshop& in, std::uint64_t salt)
    : in_(in),
      acceptor_(in.ctx, ip::tcp::endpoint(ip::tcp::v4(), 0)),
      where_(acceptor_.local_endpoint()),
      there_(in.rules, salt),
      back_(in.rules, salt) {}

void conversation::start() {
  in_.parts += 2;
  co_spawn(in_.ctx, serve(), detached);
  co_spawn(in_.ctx, ask(), detached);
}

bool conversation::failed(const error_code& ec) {
  if (ec) in_.rules.expect(in_.faults, "an operation failed that nobody disturbed");
  return static_cast<bool>(ec);
}

task<> conversation::serve() {
  auto accepted = co_await acceptor_.async_accept();
  in_.finished();  // its end shows in what the client gets; after a fault nobody may come
  if (failed(accepted.error())) co_return;
  ip::tcp::socket peer = std::move(accepted).value();
  char data[32];
  for (;;) {
    const auto [ec, n] = co_await peer.async_read_some(buffer(data));
    there_.got(data, n);
    if (ec == error::eof) {
      if (!in_.faults) there_.ended();
      co_return;
    }
    if (failed(ec)) co_return;
    const auto sent = co_await async_write(peer, buffer(data, n));
    if (failed(sent.error())) co_return;
  }
}

task<> conversation::ask() {
  constexpr std::size_t bytes_max = 32;
  char sent[bytes_max];
  char echoed[bytes_max];
  ip::tcp::socket peer(in_.ctx);
  const auto connected = co_await peer.async_connect(where_);
  bool ended = failed(connected.error());
  for (std::uint64_t left = 1 + in_.random.below(10); left != 0 && !ended; --left) {
    const std::size_t bytes = 1 + in_.random.below(bytes_max);
    there_.fill(sent, bytes);
    there_.wrote(bytes);
    const auto wrote = co_await async_write(peer, buffer(sent, bytes));
    ended = failed(wrote.error());
    if (ended) break;
    const auto [ec, n] = co_await async_read(peer, buffer(echoed, bytes));
    back_.got(echoed, n);
    ended = failed(ec);
  }
  acceptor_.close();
  in_.finished();
}

// --- a crowd -----------------------------------------------------------------------------------

crowd::crowd(workshop& in) : in_(in), strand_(in), out_(in.ctx), in_end_(in.ctx) {
  connect_pair(out_, in_end_);
}

void crowd::start() {
  in_.parts += 1;
  for (unsigned i = 0; i < writers; ++i) co_spawn(strand_.on(), write(i), detached);
  for (unsigned i = 0; i < readers; ++i) co_spawn(strand_.on(), read(), detached);
}

task<> crowd::write(unsigned number) {
  char message[message_bytes];
  for (std::uint64_t left = 1 + in_.random.below(8); left != 0; --left) {
    for (std::size_t i = 0; i < message_bytes; ++i) {
      message[i] = static_cast<char>(number * 16 + i);
    }
    strand_.visit();
    ++sent_;
    const auto wrote = co_await async_write(out_, buffer(message));
    in_.rules.expect(!wrote.error(), "a write of several failed");
  }
  if (--writing_ == 0) out_.shutdown(out_.shutdown_send);
}

void crowd::check(const char* message) {
  bool whole = true;
  for (std::size_t i = 0; i < message_bytes; ++i) {
    whole = whole && message[i] == static_cast<char>(message[0] + static_cast<char>(i));
  }
  in_.rules.expect(whole, "a message was mixed with another one");
  ++got_;
}

task<> crowd::read() {
  char message[message_bytes];
  for (;;) {
    strand_.visit();
    const auto [ec, n] = co_await async_read(in_end_, buffer(message));
    if (ec) {
      in_.rules.expect(ec == error::eof && n == 0, "a read of several failed");
      break;
    }
    check(message);
  }
  if (--reading_ != 0) co_return;
  in_.rules.expect(got_ == sent_, "a message of several was lost");
  in_.finished();
}

// --- an interrupted reader ---------------------------------------------------------------------

interrupted_reader::interrupted_reader(workshop& in)
    : in_(in), strand_(in), out_(in.ctx), in_end_(in.ctx), judged_(in.rules, 3) {
  connect_pair(out_, in_end_);
}

void interrupted_reader::start() {
  in_.parts += 3;
  co_spawn(in_.ctx, write(), detached);
  co_spawn(strand_.on(), read(), detached);
  co_spawn(in_.ctx, disturb(), detached);
}

task<> interrupted_reader::write() {
  char data[24];
  for (std::uint64_t left = 1 + in_.random.below(16); left != 0; --left) {
    const std::size_t bytes = 1 + in_.random.below(sizeof data);
    judged_.fill(data, bytes);
    judged_.wrote(bytes);
    const auto wrote = co_await async_write(out_, buffer(data, bytes));
    in_.rules.expect(!wrote.error(), "a write failed");
    if (in_.random.chance(0.5)) co_await in_.wait();
  }
  out_.shutdown(out_.shutdown_send);
  in_.finished();
}

task<> interrupted_reader::read() {
  char data[16];
  for (;;) {
    strand_.visit();
    io_result<std::size_t> got;
    switch (in_.random.below(3)) {
      case 0:
        got = co_await async_read(in_end_, buffer(data));
        break;
      case 1: {
        stop_ = stop_source();
        auto stoppable = with_stop(stop_.get_token(), in_end_.async_read_some(buffer(data)));
        got = co_await std::move(stoppable);
        break;
      }
      default:
        got = co_await in_end_.async_read_some(buffer(data));
        break;
    }
    judged_.got(data, got.value_);
    if (got.error() == error::eof) break;
    if (!got.error()) continue;
    ++in_.aborted;
    in_.rules.expect(got.error() == error::operation_aborted, "a read failed");
  }
  judged_.ended();
  ended_ = true;
  in_.finished();
}

/// From any thread: a stop request at once, a cancel through the strand.
task<> interrupted_reader::disturb() {
  for (std::uint64_t left = in_.random.below(24); left != 0 && !ended_; --left) {
    if (in_.random.chance(0.5)) co_await in_.wait();
    post(strand_.on(), [this, stop = in_.random.chance(0.5)] {
      strand_.visit();
      if (stop) {
        post(in_.ctx, [source = stop_] { source.request_stop(); });
      } else {
        in_end_.cancel();
      }
    });
    if (in_.random.chance(0.5)) co_await post(in_.ctx);
  }
  in_.finished();
}

// --- a short life ------------------------------------------------------------------------------

short_life::short_life(workshop& in) : in_(in), a_(in.ctx), b_(in.ctx) { connect_pair(a_, b_); }

void short_life::start() {
  in_.parts += 1;
  const auto ended = [self = shared_from_this()](const error_code& ec) {
    self->in_.rules.expect(!ec || ec == error::operation_aborted || ec == error::eof,
                           "an operation ended with an error that nobody caused");
    self->in_.aborted += ec ? 1u : 0u;
    if (--self->pending_ == 0) self->in_.finished();
  };
  const auto counted = [this, &ended] {
    in_.rules.started();
    return [ended, once = expected_once(in_.rules)](error_code ec, std::size_t) mutable {
      once.happened();
      ended(ec);
    };
  };
  if (in_.random.chance(0.5)) {
    a_.async_read_some(buffer(data_), counted());
  } else {
    async_read(a_, buffer(data_), counted());
  }
  async_write(b_, buffer("12345", 5), counted());
  post(in_.ctx, [self = shared_from_this()] { self->end_early(); });
}

void short_life::end_early() {
  switch (in_.random.below(4)) {
    case 0:
      return a_.cancel();
    case 1:
      return a_.close();
    case 2:
      b_.close();
      return a_.cancel();
    default:
      a_.close();
      return b_.close();
  }
}

// --- a timer -----------------------------------------------------------------------------------

shared_timer::shared_timer(workshop& in) : in_(in), strand_(in), timer_(in.ctx) {}

void shared_timer::start() {
  in_.parts += 1;
  for (unsigned i = 0; i < 3; ++i) {
    co_spawn(strand_.on(), use(static_cast<unsigned>(1 + in_.random.below(4))), detached);
  }
}

task<> shared_timer::use(unsigned times) {
  for (; times != 0; --times) {
    strand_.visit();
    if (in_.random.chance(0.5)) timer_.expires_after(in_.some_time());
    const time_point due = timer_.expiry();
    if (in_.random.chance(0.3)) {
      post(strand_.on(), [this] {
        strand_.visit();
        timer_.cancel();
      });
    }
    const auto waited = co_await timer_.async_wait();
    if (!waited.error()) {
      in_.rules.expect(steady_now() >= due, "a shared timer ended early");
    } else {
      ++in_.aborted;
      in_.rules.expect(waited.error() == error::operation_aborted, "a shared timer failed");
    }
  }
  if (--using_ == 0) in_.finished();
}

// --- chains of posts ---------------------------------------------------------------------------

chains::chains(workshop& in) : in_(in), strand_(in) {}

void chains::start() {
  in_.parts += running_;
  for (unsigned i = 0; i < 4; ++i) {
    post(in_.ctx, [this, n = static_cast<unsigned>(in_.random.below(8))] { link(n); });
  }
}

void chains::link(unsigned left) {
  if (left == 0) return in_.finished();
  const auto next = [this, left] { link(left - 1); };
  switch (in_.random.below(5)) {
    case 0:
      return post(strand_.on(), [this, next] {
        strand_.visit();
        next();
      });
    case 1:
      return dispatch(strand_.on(), [this, next] {
        strand_.visit();
        post(in_.ctx, next);
      });
    case 2:
      post(in_.ctx, next);
      if (in_.random.chance(0.5)) {
        ++in_.thrown;
        throw thrown_by_handler();
      }
      return;
    default:
      return post(in_.ctx, next);
  }
}

// --- a blocking call ---------------------------------------------------------------------------

blocking_call::blocking_call(workshop& in) : in_(in), asking_(in.ctx), answering_(in.ctx) {
  connect_pair(asking_, answering_);
}

void blocking_call::start() {
  in_.parts += 1;
  co_spawn(in_.ctx, ask(), detached);
  co_spawn(in_.ctx, answer(), detached);
}

task<> blocking_call::ask() {
  co_await in_.wait();
  char byte = 0;
  error_code ec;
  asking_.read_some(buffer(&byte, 1), ec);
  in_.rules.expect(!ec && byte == 'x', "a blocking read got something else");
  in_.finished();
}

task<> blocking_call::answer() {
  co_await in_.wait();
  const auto wrote = co_await async_write(answering_, buffer("x", 1));
  in_.rules.expect(!wrote.error(), "a write to somebody who blocks failed");
}

// --- values ------------------------------------------------------------------------------------

void values::start() {
  in_.parts += 1;
  co_spawn(in_.ctx, run(), detached);
}

task<unsigned> values::send(unsigned count) {
  unsigned sum = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (in_.random.chance(0.3)) co_await in_.wait();
    const auto sent = co_await passing_.async_send(i + 1);
    in_.rules.expect(!sent.error(), "a value was not sent");
    sum += i + 1;
  }
  co_return sum;
}

task<unsigned> values::receive() {
  unsigned sum = 0;
  for (;;) {
    const auto [ec, value] = co_await passing_.async_receive();
    if (ec) break;
    sum += value;
    if (in_.random.chance(0.3)) co_await in_.wait();
  }
  co_return sum;
}

task<> values::run() {
  const auto close_after = [](values& self) -> task<unsigned> {
    auto both = when_all(self.send(static_cast<unsigned>(self.in_.random.below(6))), self.send(4));
    auto [one, other] = co_await std::move(both);
    self.passing_.close();
    co_return one + other;
  };
  auto all = when_all(close_after(*this), receive(), receive());
  auto [sent, one, other] = co_await std::move(all);
  in_.rules.expect(sent == one + other, "values were lost in a channel, or came twice");
  in_.finished();
}

// --- a mutex -----------------------------------------------------------------------------------

void wanted_mutex::start() {
  in_.parts += 1;
  for (unsigned i = 0; i < wanting_; ++i) {
    co_spawn(in_.ctx, want(static_cast<unsigned>(1 + in_.random.below(3))), detached);
  }
}

task<> wanted_mutex::want(unsigned times) {
  for (; times != 0; --times) {
    const auto locked = co_await mutex_.lock();
    in_.rules.expect(!locked.error(), "a mutex was not locked");
    in_.rules.expect(++holders_ == 1, "two held a mutex");
    if (in_.random.chance(0.5)) co_await in_.wait();
    --holders_;
    mutex_.unlock();
  }
  if (--wanting_ == 0) in_.finished();
}

}  // namespace beck::test
