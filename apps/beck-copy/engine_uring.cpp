// SPDX-License-Identifier: BSL-1.0
//
// The engine uring: a coroutine for each block of the depth takes a piece, reads it, writes it, and
// takes the next. So `depth` transfers are in flight, in any order, with one buffer each.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

#include "block_memory.hpp"
#include "blocking_io.hpp"
#include "engine.hpp"
#include "ring_calls.hpp"

namespace beck_copy {

beck::io_context::options ring_context::on_ring() {
  return beck::io_context::options().backend(beck::backend::io_uring);
}

ring_context::ring_context() try : context_(on_ring()) {
} catch (const beck::system_error& e) {
  throw refusal(std::string("io_uring: ") + e.what());
}

namespace {

class ring_copy {
 public:
  explicit ring_copy(transfer& work) : work_(work), memory_(work.block, work.depth) {}
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

  /// Both ends have offsets: pieces go their ways by themselves. What does not go smoothly, by
  /// whole pieces, is done again by fill() and empty(), which know all that may happen.
  beck::task<> copy_pieces(std::byte* buffer) {
    piece part;
    while (!problem_ && work_.pieces.next(work_.block, part)) {
      const auto got = co_await read_entry(ring(), work_.from.fd(), buffer, part.length,
                                           work_.from.base() + part.offset);
      if (!got || static_cast<std::size_t>(*got) != part.length) {
        const std::size_t have = co_await fill(buffer, part);
        co_await empty(buffer, have, part.offset);
        continue;
      }
      const auto put = co_await write_entry(ring(), work_.to.fd(), buffer, part.length,
                                            work_.to.base() + part.offset);
      const std::size_t written = put ? static_cast<std::size_t>(*put) : 0;
      work_.done.add(written);
      if (written != part.length)
        co_await empty(buffer + written, part.length - written, part.offset + written);
    }
  }

  /// A pipe, or something else that is read or written in order. Reads take turns, and so do
  /// writes; reading goes on while others write.
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

  /// Reads a piece until it is whole or the source ends; gives the bytes that there are.
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

  beck::task<std::size_t> read_once(std::byte* to, std::size_t bytes, std::uint64_t offset) {
    const source& from = work_.from;
    const std::uint64_t at = from.is_seekable() ? from.base() + offset : no_offset;
    for (;;) {
      const auto got = co_await read_entry(ring(), from.fd(), to, bytes, at);
      if (got) co_return static_cast<std::size_t>(*got);
      const int error = got.error().value();
      if (error == EAGAIN) wait_ready(from.fd(), POLLIN);
      if (error == EAGAIN || error == EINTR) continue;
      fail("reading " + from.name(), error);
      co_return std::size_t{0};
    }
  }

  /// Writes all of it.
  beck::task<> empty(std::byte* data, std::size_t bytes, std::uint64_t offset) {
    const target& to = work_.to;
    std::memset(data + bytes, 0, work_.padded(bytes) - bytes);
    for (std::size_t written = 0; !problem_ && written < bytes;) {
      const std::size_t rest = work_.padded(bytes - written);
      const std::uint64_t at = to.is_seekable() ? to.base() + offset + written : no_offset;
      const auto put = co_await write_entry(ring(), to.fd(), data + written, rest, at);
      const int error = put ? (*put == 0 ? EIO : 0) : put.error().value();
      if (error == EAGAIN) wait_ready(to.fd(), POLLOUT);
      if (error == EAGAIN || error == EINTR) continue;
      if (error != 0) {
        fail("writing " + to.name(), error);
        break;
      }
      const std::size_t counted = std::min(static_cast<std::size_t>(*put), bytes - written);
      work_.done.add(counted);
      written += counted;
    }
  }

  /// The first problem is told, and nothing new begins: the end of the context takes back what is
  /// in flight, such as the read of a pipe that nobody writes to.
  void fail(const std::string& what, int error) {
    if (!problem_) problem_ = std::make_exception_ptr(failure(errno_text(what, error)));
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
  ring_context context_;  // goes first: it takes back what uses the rest
};

}  // namespace

void copy_uring(transfer& work) {
  ring_copy copy(work);
  copy.run();
}

}  // namespace beck_copy
