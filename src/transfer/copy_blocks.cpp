// SPDX-License-Identifier: BSL-1.0
// Copying by reads and writes. There is one coroutine for each block of memory. It takes the next
// piece of the source, reads it, writes it, and repeats.
#include <vector>

#include <beck/coro/task_group.hpp>

#include "transfer/transfer_work.hpp"

namespace beck::detail {
namespace {

/// One run of copy_blocks(): the pieces that are being copied, one for each coroutine.
class block_copy {
 public:
  block_copy(copy_work& work, std::uint64_t end)
      : work_(work), next_(work.position), end_(end), pieces_(workers_for(work, end)) {
    // The memory lasts for the whole copy: no later call has more coroutines.
    const std::size_t blocks = workers_for(work, work.limit);
    if (!work.memory) work.memory.emplace(blocks * work.how.block_bytes);
    if (work.memory->data() == nullptr) throw std::bad_alloc();
  }

  std::size_t workers() const noexcept { return pieces_.size(); }

  /// Copies pieces with block `index` of the memory until there are none left or one fails.
  task<> serve(std::size_t index) {
    piece& mine = pieces_[index];
    char* const memory = work_.memory->data() + index * work_.how.block_bytes;
    while (take_next(mine)) {
      auto got = co_await read_piece(mine, memory);
      const std::size_t have = std::min(*got, mine.bytes);
      if (have != 0) {
        auto put = co_await write_piece(mine, memory, have);
        mine.done = *put;
        if (mine.done != 0) written_ = std::max(written_, mine.begin + mine.done);
        if (put.error()) work_.fail(put.error());
      }
      if (got.error()) end_at(mine, have, got.error());
      mine.is_open = mine.done != mine.bytes;
      work_.reach(front());
      if (mine.is_open) co_return;
    }
  }

  /// Returns the end of the last byte that was written.
  std::uint64_t written() const noexcept { return written_; }

  /// Returns the position of the first byte that is not copied.
  std::uint64_t front() const noexcept {
    std::uint64_t at = next_;
    for (const piece& each : pieces_) {
      if (each.is_open) at = std::min(at, each.begin + each.done);
    }
    return at;
  }

 private:
  struct piece {
    std::uint64_t begin = 0;
    std::size_t bytes = 0;
    std::size_t done = 0;
    bool is_open = false;
  };

  /// Returns the number of coroutines: at most the depth, and at most one for each block to copy.
  static std::size_t workers_for(const copy_work& work, std::uint64_t end) noexcept {
    const std::uint64_t block = work.how.block_bytes;
    const std::uint64_t blocks = (end - work.position + block - 1) / block;
    const std::size_t most = work.in_order ? 1 : work.how.depth;
    return static_cast<std::size_t>(std::min<std::uint64_t>(most, blocks));
  }

  bool take_next(piece& mine) noexcept {
    if (work_.error || next_ >= end_) return false;
    mine.begin = next_;
    mine.bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(work_.how.block_bytes, end_ - next_));
    mine.done = 0;
    mine.is_open = true;
    next_ += mine.bytes;
    return true;
  }

  /// Returns the operation that reads the piece. From a direct source it reads whole sectors, and
  /// serve() ignores the bytes after the piece.
  file_transfer read_piece(const piece& mine, char* memory) const noexcept {
    std::size_t bytes = mine.bytes;
    if (const std::size_t sector = work_.from.offset_alignment; sector != 0) {
      bytes = std::min(work_.how.block_bytes, (bytes + sector - 1) / sector * sector);
    }
    file_transfer op(op_kind::file, file_call::read, &work_.from, work_.source_offset(mine.begin),
                     memory, bytes);
    op.flags = io_op::flag_all;
    return op;
  }
  file_transfer write_piece(const piece& mine, char* memory, std::size_t bytes) const noexcept {
    file_transfer op(op_kind::file, file_call::write, &work_.to, work_.target_offset(mine.begin),
                     memory, bytes);
    op.flags = io_op::flag_all;
    return op;
  }

  /// Handles a read that ended with `ec` after `have` bytes of the piece.
  void end_at(piece& mine, std::size_t have, const error_code& ec) noexcept {
    if (ec != error::eof) return work_.fail(ec);
    if (have == mine.bytes) return;  // a direct read found the end after the piece
    const std::uint64_t end = mine.begin + have;
    work_.end_at(end);
    if (work_.error) return;
    end_ = std::min(end_, end);
    next_ = std::min(next_, end);
    mine.bytes = have;
  }

  copy_work& work_;
  std::uint64_t next_;
  std::uint64_t end_;
  std::uint64_t written_ = 0;
  std::vector<piece> pieces_;
};

}  // namespace

task<> copy_blocks(copy_work& work, std::uint64_t end) {
  block_copy copy(work, end);
  if (copy.workers() == 1) {
    co_await copy.serve(0);
  } else {
    auto body = [&copy](task_group& group) -> task<> {
      for (std::size_t i = 0; i < copy.workers(); ++i) group.spawn(copy.serve(i));
      co_return;
    };
    co_await task_group::run(body);
  }
  work.position = copy.front();
  // Bytes written after the end that a read has found: the source has changed meanwhile.
  if (copy.written() > work.limit) work.fail(error::make_error_code(error::eof));
}

}  // namespace beck::detail
