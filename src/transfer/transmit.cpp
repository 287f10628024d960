// SPDX-License-Identifier: BSL-1.0
// Sending files over streams. sendfile(2) does not wait for the stream, but it does wait for the
// device: so it is used only for bytes that are known to be in memory.
#include <beck/transfer/transmit.hpp>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include <beck/coro/event.hpp>
#include <beck/coro/task_group.hpp>
#include <beck/coro/this_coro.hpp>
#include <beck/coro/within.hpp>

#include "transfer/transmission.hpp"

namespace beck {
using namespace detail;
namespace {

/// The size of a window: bytes that are checked, or brought into memory, before they are sent. Each
/// window is twice as long as the one before: the first bytes leave soon, and the checks of a long
/// file cost little. The longest is as much as a socket takes at once.
constexpr std::size_t window_bytes_min = packet_filling::bytes_min;
constexpr std::size_t window_bytes_max = 2'097'152;
/// After this time the kernel may have dropped bytes from memory, if a slow reader delays them.
constexpr std::uint32_t known_ms_max = 100;
constexpr std::uint64_t offset_max = INT64_MAX;

/// Waits until an event announces room in the stream, after a call has found none.
task<> wait_for_room(transmission& work) {
  const stream_hold open(work);
  if (open.refused() < 0) {
    work.fail(make_error(open.refused()));
    co_return;
  }
  auto room = co_await void_operation(op_kind::wait_write, &work.to, nullptr, io_op::by_event);
  if (room.error()) work.fail(room.error());
}

/// Sends the rest of the prefix.
task<> send_prefix(transmission& work) {
  if (!is_socket(work.to)) {
    const stream_hold open(work);
    if (open.refused() < 0) work.fail(make_error(open.refused()));
    const const_buffer rest = work.prefix_left();
    if (work.error || rest.size() == 0) co_return;
    transfer_operation write(op_kind::send, &work.to, const_cast<void*>(rest.data()), rest.size());
    write.flags = io_op::flag_all;
    auto put = co_await std::move(write);
    work.report.prefix_bytes += *put;
    if (put.error()) work.fail(put.error());
    co_return;
  }
  while (!work.error && work.prefix_left().size() != 0) {
    const bool more = work.left() != 0;
    const const_buffer rest = work.prefix_left();
    const io_vector part{const_cast<void*>(rest.data()), rest.size()};
    const std::ptrdiff_t r = work.send_now([&](system& sys) {
      return more ? sys.send_more(work.to.fd, &part, 1)
                  : sys.send(work.to.fd, rest.data(), rest.size());
    });
    if (r == -EAGAIN) {
      co_await wait_for_room(work);
    } else if (r < 0) {
      work.fail(make_error(static_cast<int>(r)));
    } else {
      work.report.prefix_bytes += static_cast<std::size_t>(r);
    }
  }
}

// --- by sendfile ---------------------------------------------------------------------------------

struct file_range {
  int fd;
  std::uint64_t offset;
  std::size_t bytes;
  std::size_t next_bytes;
};
std::ptrdiff_t perform_read_ahead(system& sys, io_op& op) noexcept {
  const auto& range = *static_cast<const file_range*>(op.address);
  return sys.read_ahead(range.fd, range.offset, range.bytes, range.next_bytes);
}

bool is_refusal(std::ptrdiff_t result) noexcept {
  switch (-result) {
    case EINVAL:
    case EOPNOTSUPP:
    case ENOSYS:
    case EPERM:  // a sandbox
      return true;
    default:
      return false;
  }
}

/// The range of the file that is known to be in memory. A server sends the same files again and
/// again, so the descriptor keeps the last range for as long as it is valid.
class resident_bytes {
 public:
  explicit resident_bytes(transmission& work) noexcept : work_(work) {}

  /// Returns whether the byte at `at` is known to be in memory.
  bool has(std::uint64_t at) noexcept {
    const resident_range& last = work_.from.resident;
    if (at >= end_ && is_alone() && at >= last.begin && at < last.begin + last.bytes &&
        is_fresh(last.since_ms)) {
      end_ = std::min(last.begin + last.bytes, work_.begin + work_.limit);
      since_ms_ = last.since_ms;
    }
    return at < end_;
  }
  /// Returns the end of the range known to be in memory.
  std::uint64_t end() const noexcept { return end_; }
  /// Notes that bytes were found in memory, or brought into it.
  void note(std::uint64_t at, std::size_t bytes) noexcept {
    end_ = at + bytes;
    since_ms_ = now_ms();
    if (!is_alone()) return;
    resident_range& last = work_.from.resident;
    const bool follows = at == last.begin + last.bytes && bytes <= UINT32_MAX - last.bytes;
    if (!follows || !is_fresh(last.since_ms)) last = {at, 0, since_ms_};
    last.bytes += static_cast<std::uint32_t>(bytes);
  }
  /// Drops the range if it is too old.
  void forget_old() noexcept {
    if (!is_fresh(since_ms_)) end_ = 0;
  }

 private:
  /// Returns whether all transmissions of the file run on this thread.
  bool is_alone() const noexcept { return work_.loop().runs_alone(); }
  std::uint32_t now_ms() const noexcept {
    return static_cast<std::uint32_t>(work_.loop().sys().now() / 1'000'000);
  }
  bool is_fresh(std::uint32_t since_ms) const noexcept {
    return now_ms() - since_ms <= known_ms_max;
  }

  transmission& work_;
  std::uint64_t end_ = 0;
  std::uint32_t since_ms_ = 0;
};

/// Sends with sendfile(2) until all bytes are sent or an error occurs, and returns true. Returns
/// false if the kernel cannot do that for these two, so that reads and writes continue.
task<bool> send_file(transmission& work) {
  constexpr auto mechanism = transfer_mechanism::send_file;
  const bool may_change = work.how.only == transfer_mechanism::automatic;
  if (may_change && work.from.offset_alignment != 0) co_return false;  // O_DIRECT: not in memory
  system& sys = work.loop().sys();
  const any_io_executor here = co_await this_coro::executor;
  resident_bytes resident(work);
  std::size_t window = window_bytes_min;
  packet_filling filling(work);
  while (!work.error && (work.left() != 0 || work.prefix_left().size() != 0)) {
    const std::uint64_t at = work.begin + work.report.bytes;
    if (work.left() != 0 && !resident.has(at)) {
      const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(window, work.left()));
      window = std::min(window * 2, window_bytes_max);
      if (!sys.is_in_memory(work.from.fd, at, bytes)) {
        file_range range{
            work.from.fd, at, bytes,
            static_cast<std::size_t>(std::min<std::uint64_t>(window, work.left() - bytes))};
        auto ready = co_await job_operation(work.loop().context(), &perform_read_ahead, &range, 0);
        if (may_change && ready.error() == std::errc::operation_not_supported) co_return false;
        if (ready.error()) work.fail(ready.error());
        if (work.error) break;
      }
      resident.note(at, bytes);
    }
    if (work.prefix_left().size() != 0) {
      co_await send_prefix(work);
      resident.forget_old();
      continue;
    }
    const std::ptrdiff_t r = work.send_now([&](system& calls) {
      return calls.send_to_stream(work.from.fd, at, work.to.fd,
                                  static_cast<std::size_t>(resident.end() - at));
    });
    if (r == -EAGAIN) {
      co_await wait_for_room(work);
      resident.forget_old();
    } else if (may_change && (is_refusal(r) || r == 0)) {
      co_return false;  // files of /proc return 0 before their end, too: a read checks
    } else if (r == 0) {
      const bool is_refused = co_await has_bytes_at(work.from, at);
      const int error = is_refused ? -EOPNOTSUPP : eof_result;
      if (is_refused || !work.ends_at(work.report.bytes)) work.fail(make_error(error));
    } else if (r < 0) {
      work.fail(make_error(static_cast<int>(r)));
    } else {
      work.sent(mechanism, static_cast<std::size_t>(r));
      filling.begin();
      runner& where = *runner::current();
      where.charge(static_cast<unsigned>(r / runner::bytes_per_weight));
      if (where.spend(runner::call_weight)) continue;
      co_await shield(post(here));  // lets others run; shielded, as the result counts bytes sent
      const auto stop = co_await this_coro::cancellation_state;
      if (stop.cancelled() != cancellation_type::none && work.left() != 0)
        work.fail(make_error(cancelled_result));
    }
  }
  co_return true;
}

// --- by reads and writes -------------------------------------------------------------------------

/// Sends with reads and writes, with one coroutine for each block of memory. Reads run
/// concurrently; writes take turns, in the order of the file.
class block_sending {
 public:
  explicit block_sending(transmission& work)
      : work_(work),
        block_(work.how.block_bytes),
        begin_(work.report.bytes),
        workers_(static_cast<std::size_t>(std::min<std::uint64_t>(
            work.open_ended ? 1 : work.how.depth, (work.left() + block_ - 1) / block_))),
        memory_(workers_ * block_),
        turns_(std::make_unique<auto_reset_event[]>(workers_)) {
    if (memory_.data() == nullptr) throw std::bad_alloc();
    turns_[0].set();
  }

  std::size_t workers() const noexcept { return workers_; }

  task<> serve(std::size_t index) {
    char* const memory = memory_.data() + index * block_;
    const std::uint64_t stride = workers_ * block_;
    for (std::uint64_t at = begin_ + index * block_; at < work_.limit; at += stride) {
      if (work_.error) break;
      const auto bytes =
          static_cast<std::size_t>(std::min<std::uint64_t>(block_, work_.limit - at));
      file_transfer read(op_kind::file, file_call::read, &work_.from, work_.begin + at, memory,
                         rounded(bytes));
      read.flags = io_op::flag_all;
      auto got = co_await std::move(read);
      auto turn = co_await turns_[index].wait();
      if (turn.error()) work_.fail(turn.error());
      const stream_hold open(work_);
      if (open.refused() < 0) work_.fail(make_error(open.refused()));
      if (at >= work_.limit) break;  // another coroutine has found the end
      const std::size_t have = std::min(*got, bytes);
      const bool is_end = have != bytes && got.error() == error::eof && work_.ends_at(at + have);
      if (have != 0 && !work_.error) co_await send_prefix(work_);
      if (work_.error) break;
      // In parts, as the stream takes them, so that the progress shows a slow peer.
      for (std::size_t done = 0; done < have && !work_.error;) {
        transfer_operation write(op_kind::send, &work_.to, memory + done, have - done);
        auto put = co_await std::move(write);
        done += *put;
        work_.sent(transfer_mechanism::read_write, *put);
        if (put.error()) work_.fail(put.error());
      }
      if (have != bytes && !is_end) work_.fail(got.error());
      turns_[(index + 1) % workers_].set();
    }
    turns_[(index + 1) % workers_].set();  // waiting coroutines then see an error
  }

 private:
  /// Returns the number of bytes to read: whole sectors for a direct file.
  std::size_t rounded(std::size_t bytes) const noexcept {
    const std::size_t sector = work_.from.offset_alignment;
    return sector == 0 ? bytes : std::min(block_, (bytes + sector - 1) / sector * sector);
  }

  transmission& work_;
  std::size_t block_;
  std::uint64_t begin_;
  std::size_t workers_;
  aligned_memory memory_;
  std::unique_ptr<auto_reset_event[]> turns_;  // each set when its coroutine may write
};

task<> send_blocks(transmission& work) {
  block_sending sending(work);
  if (sending.workers() == 1) {
    co_await sending.serve(0);
    co_return;
  }
  auto body = [&sending](task_group& group) -> task<> {
    for (std::size_t i = 0; i < sending.workers(); ++i) group.spawn(sending.serve(i));
    co_return;
  };
  co_await task_group::run(body);
}

// --- the choice ----------------------------------------------------------------------------------

/// Sets the limit. Returns 0, or the error if the transmission is not possible.
int prepare(transmission& work) noexcept {
  const auto only = work.how.only;
  if (only == transfer_mechanism::copy_range || only == transfer_mechanism::splice) return -EINVAL;
  if (work.from.loop != work.to.loop) return -EINVAL;
  if (work.begin > offset_max) return -EINVAL;
  if (work.limit == to_the_end) {
    const std::int64_t size = work.loop().sys().file_size(work.from.fd);
    if (size < 0) return static_cast<int>(size);
    const auto bytes = static_cast<std::uint64_t>(size);
    work.open_ended = size == 0;
    if (size != 0) work.limit = bytes - std::min(bytes, work.begin);
  }
  work.limit = std::min(work.limit, offset_max - work.begin);
  return work.usable();
}

/// The task behind async_transmit: holds the file open, sends, and returns the result.
task<transfer_end> run_transmission(descriptor* to, std::uint32_t to_life, descriptor* from,
                                    std::uint32_t from_life, std::uint64_t offset,
                                    std::uint64_t bytes, transmit_options how) {
  transmission work(*to, to_life, *from, offset, bytes, how);
  deferred_init<open_hold> file;
  int result = -EINVAL;
  if (from->loop == to->loop) result = file.emplace(*from, from_life).result();
  work.while_open([&] {
    if (result == 0 && to->generation == to_life && to->fd < 0) result = -EBADF;
  });
  if (result == 0) result = prepare(work);
  if (result < 0) co_return transfer_end(make_error(result), work.report);
  bool goes_on = true;
  const bool may_send = how.only == transfer_mechanism::send_file ||
                        (how.only == transfer_mechanism::automatic && !work.open_ended);
  if (may_send) {
    if (work.open_ended) {  // if no bytes follow, the prefix must not wait for them
      const bool has_bytes = co_await has_bytes_at(*from, offset);
      if (!has_bytes) work.limit = 0;
    }
    const bool done = co_await send_file(work);
    goes_on = !done;
  }
  if (goes_on && work.left() != 0) co_await send_blocks(work);
  if (goes_on && work.left() == 0 && !work.error) co_await send_prefix(work);
  if (work.error && work.usable() == cancelled_result) work.error = make_error(cancelled_result);
  co_return transfer_end(work.error, work.report);
}

}  // namespace

void transmit_operation::initiate(handler done) {
  spawn_root(
      executor_for(*to_->loop),
      run_transmission(to_, to_->generation, from_, from_->generation, offset_, bytes_, how_),
      transfer_handler<handler>(static_cast<handler&&>(done)));
}

any_io_executor transmit_operation::get_executor() const noexcept { return to_->executor; }

}  // namespace beck
