// SPDX-License-Identifier: BSL-1.0
//
// The engine uring-splice: pages go from the source into a pipe and from the pipe to the target,
// both by splices on the ring, a pipe for each block of the depth. If an end is a pipe itself,
// there is one splice, straight through.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <vector>

#include "blocking_io.hpp"
#include "engine.hpp"
#include "ring_calls.hpp"

namespace beck_copy {
namespace {

/// A pipe of this process.
struct page_pipe {
  beck::unique_fd out;
  beck::unique_fd in;
  std::size_t capacity = 0;
};

/// As much as fcntl(2) can be asked for.
constexpr std::size_t pipe_max = std::size_t{1} << 30;

/// Opens a pipe that is large enough for a block where the kernel allows it (pipe(7),
/// pipe-max-size); otherwise filled more than once.
page_pipe open_pipe(std::size_t block) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) throw failure(errno_text("pipe", errno));
  page_pipe made{beck::unique_fd(ends[0]), beck::unique_fd(ends[1])};
  int size = ::fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(std::min(block, pipe_max)));
  if (size < 0) size = ::fcntl(ends[1], F_GETPIPE_SZ);
  if (size <= 0) throw failure(errno_text("pipe", errno));
  made.capacity = static_cast<std::size_t>(size);
  return made;
}

class splice_copy {
 public:
  explicit splice_copy(transfer& work)
      : work_(work), direct_(work.from.is_pipe() || work.to.is_pipe()) {
    const std::size_t slots = work.is_stream() ? 1 : work.depth;
    for (std::size_t i = 0; i < slots && !direct_; ++i) pipes_.push_back(open_pipe(work.block));
  }
  splice_copy(const splice_copy&) = delete;
  splice_copy& operator=(const splice_copy&) = delete;

  void run() {
    if (direct_) beck::co_spawn(ring(), pass_on(), beck::detached);
    for (page_pipe& one : pipes_) beck::co_spawn(ring(), copy_pieces(one), beck::detached);
    ring().run();
    if (problem_) std::rethrow_exception(problem_);
  }

 private:
  beck::io_context& ring() { return context_.get(); }
  std::uint64_t source_offset(std::uint64_t offset) const {
    return work_.from.is_seekable() ? work_.from.base() + offset : no_offset;
  }
  std::uint64_t target_offset(std::uint64_t offset) const {
    return work_.to.is_seekable() ? work_.to.base() + offset : no_offset;
  }

  /// Copies where the source or the target is a pipe.
  beck::task<> pass_on() {
    piece part;
    while (!problem_ && work_.pieces.next(work_.block, part)) {
      const std::size_t moved =
          co_await splice(work_.from.fd(), source_offset(part.offset), work_.to.fd(),
                          target_offset(part.offset), part.length);
      if (problem_) break;
      if (moved == 0) work_.pieces.end_at(part.offset);
      if (moved < part.length) work_.pieces.give_back(part.length - moved);
      work_.done.add(moved);
    }
  }

  /// Through a pipe of our own. Of a stream there is one such coroutine.
  beck::task<> copy_pieces(page_pipe& through) {
    piece part;
    while (!problem_ && work_.pieces.next(work_.block, part)) {
      for (std::size_t done = 0; !problem_ && done < part.length;) {
        const std::uint64_t offset = part.offset + done;
        const std::size_t wanted = std::min(part.length - done, through.capacity);
        const std::size_t got = co_await splice(work_.from.fd(), source_offset(offset),
                                                through.in.get(), no_offset, wanted);
        if (problem_) co_return;
        if (got == 0) {
          work_.pieces.end_at(offset);
          co_return;
        }
        co_await drain(through, got, offset);
        done += got;
      }
    }
  }

  beck::task<> drain(page_pipe& through, std::size_t bytes, std::uint64_t offset) {
    for (std::size_t done = 0; !problem_ && done < bytes;) {
      const std::size_t moved = co_await splice(through.out.get(), no_offset, work_.to.fd(),
                                                target_offset(offset + done), bytes - done);
      if (problem_) co_return;
      if (moved == 0) fail(EIO);
      work_.done.add(moved);
      done += moved;
    }
  }

  /// A part of them if there are more than pipe_max: an entry has 32 bits for their number.
  beck::task<std::size_t> splice(int from, std::uint64_t from_offset, int to,
                                 std::uint64_t to_offset, std::size_t bytes) {
    bytes = std::min(bytes, pipe_max);
    for (;;) {
      const auto moved = co_await splice_entry(ring(), from, from_offset, to, to_offset, bytes);
      if (moved) co_return static_cast<std::size_t>(*moved);
      const int error = moved.error().value();
      if (error == EAGAIN) wait_ready(from, POLLIN);
      if (error == EAGAIN) wait_ready(to, POLLOUT);
      if (error == EAGAIN || error == EINTR) continue;
      fail(error);
      co_return std::size_t{0};
    }
  }

  void fail(int error) {
    if (!problem_) {
      try {
        fail_call("splice from " + work_.from.name() + " to " + work_.to.name(), error,
                  work_.done.bytes());
      } catch (...) {
        problem_ = std::current_exception();
      }
    }
    ring().stop();
  }

  transfer& work_;
  bool direct_;
  std::vector<page_pipe> pipes_;
  std::exception_ptr problem_;
  ring_context context_;  // goes first: it takes back what uses the rest
};

}  // namespace

void copy_uring_splice(transfer& work) {
  splice_copy copy(work);
  copy.run();
}

}  // namespace beck_copy
