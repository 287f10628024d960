// SPDX-License-Identifier: BSL-1.0
//
// The engine uring: a coroutine for each block of the depth takes a piece, reads it, writes it, and
// takes the next. So `depth` transfers are in flight, in any order, with one buffer each. Files are
// beck::random_access_file; what has no offsets is read and written by raw ring entries.
#include <fcntl.h>

#include <algorithm>
#include <beck/file/random_access_file.hpp>
#include <cerrno>
#include <cstring>
#include <exception>

#include "block_memory.hpp"
#include "blocking_io.hpp"
#include "engine.hpp"
#include "ring_calls.hpp"

namespace beck_copy {

beck::io_context::options ring_context::on_ring() { return {.backend = beck::backend::io_uring}; }

ring_context::ring_context() try : context_(on_ring()) {
} catch (const beck::system_error& e) {
  throw refusal(std::string("io_uring: ") + e.what());
}

namespace {

/// Returns a duplicate for a file object, which closes its descriptor.
int own_descriptor(int fd, const std::string& name) {
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) throw failure(errno_text(name, errno));
  return copy;
}

class ring_copy {
 public:
  explicit ring_copy(transfer& work) : work_(work), memory_(work.block, work.depth) {
    if (work.from.is_seekable()) input_.assign(own_descriptor(work.from.fd(), work.from.name()));
    if (work.to.is_seekable()) output_.assign(own_descriptor(work.to.fd(), work.to.name()));
  }
  ring_copy(const ring_copy&) = delete;
  ring_copy& operator=(const ring_copy&) = delete;

  void run() {
    const bool ordered = work_.is_stream();
    for (std::size_t i = 0; i < work_.depth; ++i) {
      std::byte* const buffer = memory_.at(i);
      beck::co_spawn(ring(), ordered ? copy_in_order(buffer) : copy_pieces(buffer), beck::detached);
    }
    ring().run();
    if (problem_) std::rethrow_exception(problem_);
  }

 private:
  beck::io_context& ring() { return context_.get(); }

  /// Copies pieces independently of each other: source and target have offsets. A piece that was
  /// not read or written whole is completed by fill() and empty(), which handle all errors.
  beck::task<> copy_pieces(std::byte* buffer) {
    piece part;
    while (!problem_ && work_.pieces.next(work_.block, part)) {
      const auto got = co_await input_.async_read_some_at(work_.from.base() + part.offset,
                                                          beck::buffer(buffer, part.length));
      if (!got || *got != part.length) {
        const std::size_t have = co_await fill(buffer, part);
        co_await empty(buffer, have, part.offset);
        continue;
      }
      const auto put = co_await output_.async_write_some_at(work_.to.base() + part.offset,
                                                            beck::buffer(buffer, part.length));
      const std::size_t written = put ? *put : 0;
      work_.done.add(written);
      if (written != part.length)
        co_await empty(buffer + written, part.length - written, part.offset + written);
    }
  }

  /// Copies a pipe, or another descriptor that is read or written in order. Reads take turns, and
  /// so do writes; one coroutine reads while another writes.
  beck::task<> copy_in_order(std::byte* buffer) {
    for (;;) {
      beck::ignore(co_await reading_.lock());
      piece part;
      std::size_t have = 0;
      const bool more = !problem_ && !ended_ && work_.pieces.next(work_.block, part);
      if (more) {
        have = co_await read_once(buffer, part.length, part.offset);
        if (have == 0) work_.pieces.end_at(part.offset);
        if (have < part.length) work_.pieces.give_back(part.length - have);
        ended_ = have == 0;
      }
      const std::uint64_t turn = turns_++;
      reading_.unlock();
      beck::ignore(co_await writing_.lock());
      const auto my_turn = [this, turn] { return turn == turn_now_; };
      beck::ignore(co_await turn_over_.wait(writing_, my_turn));
      if (have > 0 && !problem_) co_await empty(buffer, have, part.offset);
      ++turn_now_;
      writing_.unlock();
      turn_over_.notify_all();
      if (have == 0) co_return;
    }
  }

  /// Reads a piece until it is whole or the source ends. Returns the number of bytes.
  beck::task<std::size_t> fill(std::byte* buffer, piece part) {
    std::size_t have = 0;
    while (!problem_ && have < part.length) {
      const std::size_t wanted = work_.padded(part.length - have);
      const std::size_t got = co_await read_once(buffer + have, wanted, part.offset + have);
      have = std::min(have + got, part.length);
      if (got > 0 && have % work_.alignment == 0) continue;
      if (have < part.length) work_.pieces.end_at(part.offset + have);
      break;
    }
    co_return have;
  }

  /// Reads once. Returns the number of bytes; 0 at the end.
  beck::task<std::size_t> read_once(std::byte* to, std::size_t bytes, std::uint64_t offset) {
    const source& from = work_.from;
    for (;;) {
      beck::error_code error;
      if (from.is_seekable()) {
        const auto got =
            co_await input_.async_read_some_at(from.base() + offset, beck::buffer(to, bytes));
        if (got) co_return *got;
        error = got.error();
        if (error == beck::error::eof) co_return std::size_t{0};
      } else {
        const auto got = co_await read_entry(ring(), from.fd(), to, bytes);
        if (got) co_return static_cast<std::size_t>(*got);
        error = got.error();
      }
      if (!may_go_on(error, from.fd(), POLLIN)) {
        fail("reading " + from.name(), error);
        co_return std::size_t{0};
      }
    }
  }

  /// Writes once. Returns the number of bytes, which is more than 0 unless `problem_` is set.
  beck::task<std::size_t> write_once(const std::byte* data, std::size_t bytes,
                                     std::uint64_t offset) {
    const target& to = work_.to;
    for (;;) {
      beck::error_code error;
      std::size_t written = 0;
      if (to.is_seekable()) {
        const auto put =
            co_await output_.async_write_some_at(to.base() + offset, beck::buffer(data, bytes));
        error = put.error();
        if (put) written = *put;
      } else {
        const auto put = co_await write_entry(ring(), to.fd(), data, bytes);
        error = put.error();
        if (put) written = static_cast<std::size_t>(*put);
      }
      if (written > 0) co_return written;
      if (!error) error = beck::error_code(EIO, std::system_category());
      if (!may_go_on(error, to.fd(), POLLOUT)) {
        fail("writing " + to.name(), error);
        co_return std::size_t{0};
      }
    }
  }

  /// Writes all `bytes` bytes.
  beck::task<> empty(std::byte* data, std::size_t bytes, std::uint64_t offset) {
    std::memset(data + bytes, 0, work_.padded(bytes) - bytes);
    for (std::size_t written = 0; !problem_ && written < bytes;) {
      const std::size_t now =
          co_await write_once(data + written, work_.padded(bytes - written), offset + written);
      const std::size_t counted = std::min(now, bytes - written);
      work_.done.add(counted);
      written += counted;
    }
  }

  /// Returns whether the call is to be made again: it was interrupted, or another process has made
  /// the descriptor non-blocking and it was not ready; in that case, waits until it is.
  static bool may_go_on(const beck::error_code& error, int fd, short events) {
    if (error == beck::error::try_again) wait_ready(fd, events);
    return error == beck::error::try_again || error == beck::error::interrupted;
  }

  /// Keeps the first problem, which run() throws, and stops the context: its destructor cancels the
  /// operations in flight, such as the read of a pipe without writers.
  void fail(const std::string& what, const beck::error_code& error) {
    if (!problem_) {
      const bool system = error.category() == std::system_category();
      problem_ = std::make_exception_ptr(
          failure(system ? errno_text(what, error.value()) : what + ": " + error.message()));
    }
    ring().stop();
  }

  transfer& work_;
  block_memory memory_;
  std::exception_ptr problem_;
  beck::mutex reading_;
  beck::mutex writing_;
  beck::condition_variable turn_over_;
  std::uint64_t turns_ = 0;     // handed out to readers
  std::uint64_t turn_now_ = 0;  // that may write
  bool ended_ = false;
  ring_context context_;  // destroyed before those above: cancels their operations
  beck::random_access_file input_{context_.get()};
  beck::random_access_file output_{context_.get()};
};

}  // namespace

void copy_uring(transfer& work) {
  ring_copy copy(work);
  copy.run();
}

}  // namespace beck_copy
