// SPDX-License-Identifier: BSL-1.0
// Files over streams. sendfile(2) does not wait for the stream, but it does for the device: so
// nothing is sent before it is known to be in memory.
#include <beck/transfer/transmit.hpp>

#include <algorithm>
#include <cerrno>
#include <memory>

#include <beck/coro/event.hpp>
#include <beck/coro/task_group.hpp>
#include <beck/coro/this_coro.hpp>
#include <beck/coro/within.hpp>
#include <beck/detail/deferred_init.hpp>

#include "transfer/transfer_work.hpp"

namespace beck {
using namespace detail;
namespace {

/// What is made sure to be in memory and then sent: more than a socket usually takes at once,
/// little enough that it stays in memory meanwhile.
constexpr std::size_t window_bytes = 262'144;
constexpr std::uint64_t offset_max = INT64_MAX;

struct transmission {
  transmission(descriptor& stream, std::uint32_t life, descriptor& file, std::uint64_t offset,
               std::uint64_t bytes, const transmit_options& options) noexcept
      : to(stream), to_life(life), from(file), begin(offset), limit(bytes), how(options) {}

  io_loop& loop() const noexcept { return *to.loop; }
  std::uint64_t left() const noexcept { return limit - report.bytes; }
  void sent(transfer_mechanism by, std::size_t bytes) {
    if (bytes == 0) return;
    report.mechanism = by;
    report.bytes += bytes;
    how.progress().tell(report.bytes);
  }
  /// Calls `action` while nobody else can close the stream: a shared loop's other threads could.
  template <class Action>
  void while_open(Action&& action) const noexcept {
    if (loop().runs_alone()) return action();
    static_cast<void>(loop().as_runner([&action](io_loop&) { action(); }));
  }
  /// Whether the stream and the file take operations now: 0, or why not.
  int usable() const noexcept {
    int result = 0;
    while_open([&] { result = usable_here(); });
    return result;
  }
  /// The same inside while_open(). A slot that was closed may be another object's by now.
  int usable_here() const noexcept {
    const bool is_gone =
        to.generation != to_life || to.fd < 0 || is_closing(to) || is_closing(from);
    return is_gone ? cancelled_result : to.expired ? timeout_result : 0;
  }
  /// The first error counts.
  void fail(const error_code& ec) noexcept {
    if (!error) error = ec;
  }

  descriptor& to;
  const std::uint32_t to_life;  ///< the generation of the slot
  descriptor& from;
  const std::uint64_t begin;  ///< in the file
  std::uint64_t limit;        ///< in bytes
  const transmit_options how;
  transfer_report report;
  error_code error;
};

/// Around an operation on the stream: on a shared loop another thread may close the stream before
/// it has begun, and whoever has the slot then would get it.
class stream_hold {
 public:
  explicit stream_hold(const transmission& work) noexcept {
    refused_ = work.loop().runs_alone() ? 0 : hold_.emplace(work.to, work.to_life).result();
    if (refused_ == 0) refused_ = work.usable();
  }
  /// 0, or why there is nothing to begin.
  int refused() const noexcept { return refused_; }

 private:
  deferred_init<open_hold> hold_;
  int refused_;
};

// --- by sendfile ---------------------------------------------------------------------------------

struct file_range {
  int fd;
  std::uint64_t offset;
  std::size_t bytes;
};
std::ptrdiff_t perform_read_ahead(system& sys, io_op& op) noexcept {
  const auto& range = *static_cast<const file_range*>(op.address);
  return sys.read_ahead(range.fd, range.offset, range.bytes);
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

/// False: the kernel does not do it for these two.
task<bool> send_file(transmission& work) {
  constexpr auto mechanism = transfer_mechanism::send_file;
  const bool may_change = work.how.only() == transfer_mechanism::automatic;
  if (may_change && work.from.offset_alignment != 0) co_return false;  // past the memory
  system& sys = work.loop().sys();
  const any_io_executor here = co_await this_coro::executor;
  std::uint64_t in_memory = 0;  // up to where
  while (!work.error && work.left() != 0) {
    const std::uint64_t at = work.begin + work.report.bytes;
    if (in_memory <= at) {
      const auto window =
          static_cast<std::size_t>(std::min<std::uint64_t>(window_bytes, work.left()));
      if (!sys.is_in_memory(work.from.fd, at, window)) {
        file_range range{work.from.fd, at, window};
        auto ready = co_await job_operation(work.loop().context(), &perform_read_ahead, &range, 0);
        if (ready.error()) work.fail(ready.error());
        if (work.error) break;
      }
      in_memory = at + window;
    }
    int refused = 0;
    std::ptrdiff_t r = 0;
    work.while_open([&] {
      refused = work.usable_here();
      if (refused < 0) return;
      r = sys.send_to_stream(work.from.fd, at, work.to.fd,
                             static_cast<std::size_t>(in_memory - at));
    });
    if (refused < 0) {
      work.fail(make_error(refused));
      break;
    }
    if (r == -EAGAIN) {
      const stream_hold open(work);
      if (open.refused() < 0) {
        work.fail(make_error(open.refused()));
        break;
      }
      auto room = co_await void_operation(op_kind::wait_write, &work.to, nullptr, 0);
      if (room.error()) work.fail(room.error());
    } else if (may_change && (is_refusal(r) || r == 0)) {
      co_return false;  // 0: files of /proc say so, too; reading tells
    } else if (r <= 0) {
      work.fail(make_error(r == 0 ? eof_result : static_cast<int>(r)));
    } else {
      work.sent(mechanism, static_cast<std::size_t>(r));
      runner& where = *runner::current();
      where.charge(static_cast<unsigned>(r / runner::bytes_per_weight));
      if (where.spend(runner::call_weight)) continue;
      co_await shield(post(here));  // others first; what was sent is said in any case
      const auto stop = co_await this_coro::cancellation_state;
      if (stop.cancelled() != cancellation_type::none && work.left() != 0)
        work.fail(make_error(cancelled_result));
    }
  }
  co_return true;
}

// --- by reads and writes -------------------------------------------------------------------------

/// A coroutine for each block of memory, in turns: reads go on side by side, writes one by one.
class block_sending {
 public:
  explicit block_sending(transmission& work)
      : work_(work),
        block_(work.how.block_bytes()),
        begin_(work.report.bytes),
        workers_(static_cast<std::size_t>(
            std::min<std::uint64_t>(work.how.depth(), (work.left() + block_ - 1) / block_))),
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
      if (work_.error) break;
      const std::size_t have = std::min(*got, bytes);
      transfer_operation write(op_kind::send, &work_.to, memory, have);
      write.flags = io_op::flag_all;
      auto put = co_await std::move(write);
      work_.sent(transfer_mechanism::read_write, *put);
      if (put.error()) work_.fail(put.error());
      if (have != bytes) work_.fail(got.error());
      turns_[(index + 1) % workers_].set();
    }
    turns_[(index + 1) % workers_].set();  // for those that the error has not found yet
  }

 private:
  /// A direct file is asked for whole sectors.
  std::size_t rounded(std::size_t bytes) const noexcept {
    const std::size_t sector = work_.from.offset_alignment;
    return sector == 0 ? bytes : std::min(block_, (bytes + sector - 1) / sector * sector);
  }

  transmission& work_;
  std::size_t block_;
  std::uint64_t begin_;
  std::size_t workers_;
  aligned_memory memory_;
  std::unique_ptr<auto_reset_event[]> turns_;  // of the workers, to write
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

int prepare(transmission& work) noexcept {
  const auto only = work.how.only();
  if (only == transfer_mechanism::copy_range || only == transfer_mechanism::splice) return -EINVAL;
  if (work.from.loop != work.to.loop) return -EINVAL;
  if (work.begin > offset_max) return -EINVAL;
  if (work.limit == to_the_end) {
    const std::int64_t size = work.loop().sys().file_size(work.from.fd);
    if (size < 0) return static_cast<int>(size);
    const auto bytes = static_cast<std::uint64_t>(size);
    work.limit = bytes - std::min(bytes, work.begin);
  }
  work.limit = std::min(work.limit, offset_max - work.begin);
  return work.usable();
}

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
  if (how.only() != transfer_mechanism::read_write) {
    const bool done = co_await send_file(work);
    goes_on = !done;
  }
  if (goes_on && work.left() != 0) co_await send_blocks(work);
  if (work.error && work.usable() == cancelled_result) work.error = make_error(cancelled_result);
  co_return transfer_end(work.error, work.report);
}

}  // namespace

transmit_options& transmit_options::depth(std::size_t blocks) noexcept {
  depth_ = blocks_within_bounds(blocks);
  return *this;
}

transmit_options& transmit_options::block_bytes(std::size_t bytes) noexcept {
  block_bytes_ = block_within_bounds(bytes);
  return *this;
}

void transmit_operation::initiate(handler done) {
  spawn_root(
      executor_for(*to_->loop),
      run_transmission(to_, to_->generation, from_, from_->generation, offset_, bytes_, how_),
      transfer_handler<handler>(static_cast<handler&&>(done)));
}

any_io_executor transmit_operation::get_executor() const noexcept { return to_->executor; }

}  // namespace beck
