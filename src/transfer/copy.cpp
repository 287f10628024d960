// SPDX-License-Identifier: BSL-1.0
// The mechanisms of a copy: tries the best one first, and if the kernel refuses it, continues with
// reads and writes at the same position. A call that blocks is made by a thread of the context's
// pool, one chunk at a time.
#include <beck/transfer/copy.hpp>

#include <cerrno>

#include "transfer/transfer_work.hpp"

namespace beck {
using namespace detail;
namespace {

/// The bytes of one call, about 2 ms at memory bandwidth: a cancellation waits for one call, and
/// the call is long enough to hide the cost of handing it to a thread.
constexpr std::size_t chunk_bytes = std::size_t{8} << 20;
constexpr std::uint64_t offset_max = INT64_MAX;

/// The arguments of one call on a pool thread.
struct kernel_chunk {
  transfer_mechanism how;
  int from;
  int to;
  int pipe[2] = {-1, -1};
  std::uint64_t from_offset = 0;
  std::uint64_t to_offset = 0;
  std::size_t bytes = 0;
};

std::ptrdiff_t perform_chunk(system& sys, io_op& op) noexcept {
  const auto& c = *static_cast<const kernel_chunk*>(op.address);
  switch (c.how) {
    case transfer_mechanism::copy_range:
      return sys.copy_range(c.from, c.from_offset, c.to, c.to_offset, c.bytes);
    case transfer_mechanism::send_file:
      return sys.send_to_file(c.from, c.from_offset, c.to, c.to_offset, c.bytes);
    case transfer_mechanism::splice:
      return sys.splice_to_file(c.from, c.from_offset, c.pipe, c.to, c.to_offset, c.bytes);
    case transfer_mechanism::automatic:
    case transfer_mechanism::read_write:
      break;
  }
  return -EOPNOTSUPP;
}

/// The search for the next data of a source with holes, from `begin`; the data found is [begin,
/// end).
struct data_search {
  int fd;
  std::uint64_t begin;
  std::uint64_t end;
};
std::ptrdiff_t perform_search(system& sys, io_op& op) noexcept {
  auto& s = *static_cast<data_search*>(op.address);
  return sys.find_data(s.fd, s.begin, s.begin, s.end);
}

/// The pipe of a splice, opened only if needed.
class own_pipe {
 public:
  explicit own_pipe(system& sys, bool wanted) noexcept
      : sys_(sys), result_(wanted ? sys.open_pipe(ends_) : 0) {}
  ~own_pipe() {
    for (const int fd : ends_) {
      if (fd >= 0) sys_.close(fd);
    }
  }
  own_pipe(const own_pipe&) = delete;
  own_pipe& operator=(const own_pipe&) = delete;
  int result() const noexcept { return result_; }
  void give(kernel_chunk& chunk) const noexcept {
    chunk.pipe[0] = ends_[0];
    chunk.pipe[1] = ends_[1];
  }

 private:
  system& sys_;
  int ends_[2] = {-1, -1};
  int result_;
};

/// Returns whether `ec` means that the kernel does not offer the mechanism for these two files,
/// rather than that the transfer failed.
bool is_refusal(const error_code& ec) noexcept {
  if (ec.category() != std::system_category()) return false;
  switch (ec.value()) {
    case EINVAL:      // devices, /proc, a target in append mode
    case EXDEV:       // two file systems
    case EOPNOTSUPP:  // also simulations
    case ENOSYS:
    case EPERM:   // a sandbox
    case EBADF:   // copy_file_range(2): a target in append mode
    case EISDIR:  // not a regular file
    case ETXTBSY:
      return true;
    default:
      return false;
  }
}

/// Changes the mechanism to reads and writes. Returns false if the options do not allow it, or it
/// is in use already.
bool step_down(copy_work& work) noexcept {
  const bool may = work.how.only == transfer_mechanism::automatic &&
                   work.mechanism != transfer_mechanism::read_write;
  if (may) work.mechanism = transfer_mechanism::read_write;
  return may;
}

/// Handles a call that found no more data before the limit. copy_file_range(2) also returns 0 for
/// files that the kernel generates, so a read checks for data.
task<> meet_end(copy_work& work) {
  if (step_down(work)) co_return;
  const bool is_refused = co_await has_bytes_at(work.from, work.source_offset(work.position));
  if (is_refused) co_return work.fail(make_error(-EOPNOTSUPP));
  work.end_at(work.position);
}

/// Copies the bytes before `end` by calls of the kernel, until they are copied, the mechanism is
/// refused, or an error occurs.
task<> copy_chunks(copy_work& work, std::uint64_t end) {
  kernel_chunk chunk{work.mechanism, work.from.fd, work.to.fd};
  const own_pipe pipe(work.loop().sys(), work.mechanism == transfer_mechanism::splice);
  if (pipe.result() < 0) co_return work.fail(make_error(pipe.result()));
  pipe.give(chunk);
  while (work.position < std::min(end, work.limit)) {
    if (is_closing(work.from) || is_closing(work.to)) {
      co_return work.fail(make_error(cancelled_result));
    }
    chunk.from_offset = work.source_offset(work.position);
    chunk.to_offset = work.target_offset(work.position);
    chunk.bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(chunk_bytes, end - work.position));
    auto [ec, n] = co_await job_operation(work.loop().context(), &perform_chunk, &chunk, 0);
    if (ec && is_refusal(ec) && step_down(work)) co_return;
    if (ec) co_return work.fail(ec);
    if (n == 0) {
      co_await meet_end(work);
      co_return;
    }
    work.position += n;
    work.reach(work.position);
  }
}

/// Extends the target to `end`, since skipping a hole before `end` has written nothing.
task<> finish_holes(copy_work& work, std::uint64_t end) {
  file_facts facts;
  const std::uint64_t size = work.target_offset(end);
  if (work.loop().sys().examine_file(work.to.fd, facts) == 0 && facts.bytes < size) {
    auto done = co_await file_action(op_kind::file, file_call::resize, &work.to, size, nullptr, 0);
    if (done.error()) co_return work.fail(done.error());
  }
  work.reach(end);
}

/// Handles a source without more data: it has a hole up to the limit, or ends before the limit,
/// which is an error.
task<> skip_last_hole(copy_work& work) {
  file_facts facts;
  const int result = work.loop().sys().examine_file(work.from.fd, facts);
  if (result < 0) co_return work.fail(make_error(result));
  const std::uint64_t left = facts.bytes - std::min(facts.bytes, work.how.from_offset);
  const std::uint64_t end = std::min(left, work.limit);
  const bool is_hole = end > work.position;
  if (is_hole) work.position = end;
  if (end == work.limit) co_return;
  if (is_hole) co_await finish_holes(work, end);
  work.fail(error::make_error_code(error::eof));
}

/// Moves the position to the next data, and returns the end of that data.
task<std::uint64_t> skip_hole(copy_work& work) {
  if (!work.keeps_holes) co_return work.limit;
  const std::uint64_t start = work.source_offset(work.position);
  data_search search{work.from.fd, start, start};
  auto [ec, n] = co_await job_operation(work.loop().context(), &perform_search, &search, 0);
  if (ec && ec.value() == ENXIO) {
    co_await skip_last_hole(work);
  } else if (ec && is_refusal(ec)) {
    work.keeps_holes = false;
  } else if (ec) {
    work.fail(ec);
  } else {
    work.position = std::min(work.limit, search.begin - work.how.from_offset);
    co_return std::min(work.limit, search.end - work.how.from_offset);
  }
  co_return work.limit;
}

task<> copy_everything(copy_work& work) {
  while (!work.error && work.position < work.limit) {
    const std::uint64_t end = co_await skip_hole(work);
    while (!work.error && work.position < std::min(end, work.limit)) {
      if (work.mechanism == transfer_mechanism::read_write) {
        co_await copy_blocks(work, std::min(end, work.limit));
      } else {
        co_await copy_chunks(work, end);
      }
    }
  }
  if (!work.error && work.keeps_holes) co_await finish_holes(work, work.limit);
}

bool overlap(std::uint64_t a, std::uint64_t b, std::uint64_t bytes) noexcept {
  return a < b ? b - a < bytes : a - b < bytes;
}

/// Chooses the limit and the mechanism. Returns 0, or the error if the copy is not possible.
int prepare(copy_work& work) noexcept {
  const copy_options& how = work.how;
  file_facts source;
  file_facts target;
  int result = work.loop().sys().examine_file(work.from.fd, source);
  if (result == 0) result = work.loop().sys().examine_file(work.to.fd, target);
  if (result < 0) return result;
  const std::uint64_t highest = std::max(how.from_offset, how.to_offset);
  if (highest > offset_max) return -EINVAL;
  if (how.length != to_the_end) {
    work.limit = std::min(how.length, offset_max - highest);
  } else if (source.bytes != 0) {
    work.limit = source.bytes - std::min(source.bytes, how.from_offset);
  } else {
    work.limit = offset_max - highest;
    work.open_ended = true;
  }
  const bool is_same = source.device == target.device && source.number == target.number;
  if (is_same && source.is_regular && overlap(how.from_offset, how.to_offset, work.limit))
    return -EINVAL;
  const bool in_one_place = work.from.loop == work.to.loop;
  work.in_order = work.open_ended || target.appends;
  if (work.mechanism == transfer_mechanism::automatic) {
    const bool in_chunks = in_one_place && !work.in_order;
    work.mechanism = in_chunks ? transfer_mechanism::copy_range : transfer_mechanism::read_write;
  } else if (!in_one_place && work.mechanism != transfer_mechanism::read_write) {
    return -EOPNOTSUPP;
  }
  work.keeps_holes = in_one_place && source.is_regular && source.stored_bytes < source.bytes &&
                     target.is_regular && target.bytes <= how.to_offset && !target.appends;
  return 0;
}

/// The task behind async_copy: holds both descriptors open, copies, and returns the result.
task<transfer_end> run_copy(descriptor* from, std::uint32_t from_generation, descriptor* to,
                            std::uint32_t to_generation, copy_options how) {
  copy_work work(*from, *to, how);
  const open_hold target(*to, to_generation);
  int result = target.result();
  deferred_init<open_hold> source;
  if (result == 0 && from->loop == to->loop) {
    result = source.emplace(*from, from_generation).result();
  }
  if (result == 0) result = prepare(work);
  if (result < 0) co_return transfer_end(make_error(result), work.report);
  co_await copy_everything(work);
  if (work.error && (is_closing(*from) || is_closing(*to)))
    work.error = make_error(cancelled_result);
  co_return transfer_end(work.error, work.report);
}

}  // namespace

const char* to_string(transfer_mechanism which) noexcept {
  switch (which) {
    case transfer_mechanism::automatic:
      return "automatic";
    case transfer_mechanism::copy_range:
      return "copy_range";
    case transfer_mechanism::send_file:
      return "send_file";
    case transfer_mechanism::splice:
      return "splice";
    case transfer_mechanism::read_write:
      return "read_write";
  }
  return "";
}

void copy_operation::initiate(handler done) {
  const any_io_executor where = executor_for(*to_->loop);
  spawn_root(where, run_copy(from_, from_->generation, to_, to_->generation, how_),
             transfer_handler<handler>(static_cast<handler&&>(done)));
}

any_io_executor copy_operation::get_executor() const noexcept { return to_->executor; }

}  // namespace beck
