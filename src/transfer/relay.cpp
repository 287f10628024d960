// SPDX-License-Identifier: BSL-1.0
// Two pumps run concurrently. A pump splices from its source into a pipe and from there to its
// sink. If the kernel refuses that (EINVAL, EPERM or ENOSYS), the bytes in the pipe are read and
// written, and the rest goes through a buffer. If a sink refuses bytes, its pump stays and limits
// the wait for the other pump.
#include <beck/transfer/relay.hpp>

#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/io/pipe.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/transfer/splice.hpp>

#include "io/loop/io_loop.hpp"

namespace beck {
using namespace detail;
namespace {

/// The default capacity of a pipe: a splice of more bytes would not move more.
constexpr std::size_t pipe_bytes = 65'536;
constexpr int ends_sending = 1;  // SHUT_WR

struct relay_state {
  stream_object& a;
  stream_object& b;
  const relay_options& how;
  relay_report report;
  error_code error;  // the first one
  bool is_ended = false;
  bool is_half_over = false;            // one direction has ended
  std::optional<steady_timer> silence;  // from a refused write to the end of the other pump

  void keep(error_code ec) {
    if (!error) error = ec;
  }
  /// Ends the relay with `ec`, unless it has failed before, and cancels the waits of both pumps.
  void fail(error_code ec) {
    if (is_ended) return;
    is_ended = true;
    keep(ec);
    for (stream_object* const stream : {&a, &b}) {
      error_code ignored;
      stream->cancel(ignored);
    }
  }
  void count(relay_direction& way, transfer_mechanism by, std::size_t bytes) {
    way.mechanism = by;
    way.bytes += bytes;
    how.progress.tell(report);
  }
  std::uint64_t carried() const noexcept { return report.forth.bytes + report.back.bytes; }
};

/// The parts of the pump of one direction.
struct pump_parts {
  relay_state& all;
  stream_object& from;
  stream_object& to;
  relay_direction& way;
};

/// Passes the end of the source on to the sink, by ending the sink's sending side.
void pass_end_on(const pump_parts& pump) {
  const descriptor& d = *pump.to.slot();
  // The result is ignored: a stream that is no socket has no sending side (ENOTSOCK), and a
  // connection may be gone (ENOTCONN).
  if (d.fd >= 0) static_cast<void>(d.loop->sys().shutdown(d.fd, ends_sending));
  pump.way.ended = true;
  pump.all.how.progress.tell(pump.all.report);
}

/// Returns whether the direction has ended, by its end or by an error, after a step that ended with
/// `ec`.
bool is_over(const pump_parts& pump, const error_code& ec) {
  if (ec == error::eof) {
    pass_end_on(pump);
  } else if (ec) {
    pump.all.fail(ec);
  }
  return ec || pump.all.is_ended;
}

/// As is_over(), after a write. A peer that refuses bytes may have sent its reason before it
/// closed: the other direction carries that, within limit_silence().
bool is_refused(const pump_parts& pump, const error_code& ec) {
  if (ec != error::broken_pipe && ec != error::connection_reset) return is_over(pump, ec);
  pump.all.keep(ec);
  return true;
}

/// Returns whether `ec` means that the kernel, or a filter, does not splice these two streams. An
/// error of a stream may look the same; the buffered pump then gets it, too.
bool is_refusal(const error_code& ec) noexcept {
  return ec == error::invalid_argument || ec == error::no_permission || ec == make_error(-ENOSYS);
}

task<bool> write_out(const pump_parts& pump, const char* from, std::size_t bytes) {
  auto [ec, n] = co_await async_write(pump.to, buffer(from, bytes));
  if (n != 0) pump.all.count(pump.way, transfer_mechanism::read_write, n);
  co_return !is_refused(pump, ec);
}

task<> pump_buffered(const pump_parts& pump) {
  const std::size_t most = pump.all.how.buffer_bytes;
  // Not set to zero, so that the kernel provides memory only for the pages written.
  const auto room = std::make_unique_for_overwrite<char[]>(most);
  while (!pump.all.is_ended) {  // the other pump may end the relay before this one waits
    auto [ec, n] = co_await pump.from.async_read_some(buffer(room.get(), most));
    if (is_over(pump, ec)) co_return;
    const bool goes_on = co_await write_out(pump, room.get(), n);
    if (!goes_on) co_return;
  }
}

/// Moves the `bytes` bytes in the pipe to the sink through a buffer. Returns false if that ends the
/// direction.
task<bool> empty_pipe(const pump_parts& pump, readable_pipe& out, std::size_t bytes) {
  const auto room = std::make_unique_for_overwrite<char[]>(bytes);
  auto [ec, n] = co_await async_read(out, buffer(room.get(), bytes));
  if (is_over(pump, ec)) co_return false;
  const bool goes_on = co_await write_out(pump, room.get(), n);
  co_return goes_on;
}

/// Splices until the direction has ended, and returns true. Returns false if the kernel does not
/// splice these two streams; all bytes taken from the source have been passed on then.
task<bool> pump_spliced(const pump_parts& pump, readable_pipe& out, writable_pipe& in) {
  const bool may_change = pump.all.how.only != transfer_mechanism::splice;
  constexpr auto own_reader = splice_operation::ends::own_reader;
  while (!pump.all.is_ended) {
    auto [ec, n] = co_await splice_operation(pump.from, in, pipe_bytes, false, own_reader);
    if (is_refusal(ec) && may_change) co_return false;
    if (is_over(pump, ec)) co_return true;
    for (std::size_t left = n; left != 0;) {
      auto [sent, m] = co_await async_splice_some(out, pump.to, left);
      if (is_refusal(sent) && may_change) {
        const bool goes_on = co_await empty_pipe(pump, out, left);
        co_return !goes_on;
      }
      if (m != 0) pump.all.count(pump.way, transfer_mechanism::splice, m);
      if (is_refused(pump, sent)) co_return true;
      left -= m;
    }
  }
  co_return true;
}

/// Moves bytes in one direction until it has ended: by splices if possible, else through a buffer.
task<> carry(const pump_parts& parts) {
  if (parts.all.is_ended) co_return;
  if (parts.all.how.only != transfer_mechanism::read_write) {
    const any_io_executor& executor = parts.from.slot()->executor;
    readable_pipe out(executor);
    writable_pipe in(executor);
    error_code ec;
    connect_pipe(out, in, ec);
    if (ec && parts.all.how.only == transfer_mechanism::splice) co_return parts.all.fail(ec);
    if (!ec) {
      const bool over = co_await pump_spliced(parts, out, in);
      if (over) co_return;
    }
  }
  co_await pump_buffered(parts);
}

/// Ends the relay when the other direction has carried nothing for the time in the options.
task<> limit_silence(relay_state& all, const any_io_executor& executor) {
  all.silence.emplace(executor);
  for (std::uint64_t before = all.carried() + 1; before != all.carried();) {
    before = all.carried();
    all.silence->expires_after(all.how.linger_timeout);
    const auto waited = co_await all.silence->async_wait();
    if (waited.error()) co_return;  // the other direction has ended, or the task was stopped
  }
  all.fail(error::broken_pipe);
}

/// Carries one direction. If it ends first, by a refused write, it waits for the other direction.
task<> pump(pump_parts parts) {
  co_await carry(parts);
  relay_state& all = parts.all;
  const bool is_last = std::exchange(all.is_half_over, true);
  if (is_last && all.silence) all.silence->cancel();
  if (is_last || all.is_ended || parts.way.ended) co_return;
  co_await limit_silence(all, parts.to.slot()->executor);
}

}  // namespace

task<io_result<relay_report>> beck::functions::relay(stream_object& a, stream_object& b,
                                                     relay_options how) {
  BECK_ASSERT(a.slot()->loop == b.slot()->loop,
              "a relay was started between streams of two contexts");
  const transfer_mechanism only = how.only;
  if (only == transfer_mechanism::copy_range || only == transfer_mechanism::send_file)
    co_return io_result<relay_report>(error::invalid_argument, {});  // a mechanism for files only
  how.buffer_bytes = std::max<std::size_t>(how.buffer_bytes, 1);
  relay_state all{a, b, how, {}, {}, false, false, {}};
  auto both = when_all(pump({all, a, b, all.report.forth}), pump({all, b, a, all.report.back}));
  ignore(co_await std::move(both));
  co_return io_result<relay_report>(all.error, all.report);
}

}  // namespace beck
