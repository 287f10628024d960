// SPDX-License-Identifier: BSL-1.0
//
// The order of things: open, copy by an engine or down the ladder, complete, compare, give the
// name.
#include "copy.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "automatic.hpp"
#include "blocking_io.hpp"
#include "engine.hpp"
#include "failure.hpp"
#include "sizes.hpp"
#include "verify.hpp"

namespace beck_copy {
namespace {

class one_copy {
 public:
  one_copy(const settings& asked, outcome& done)
      : asked_(asked),
        done_(done),
        from_(asked),
        to_(asked, from_),
        length_(asked.size ? asked.size : from_.size()),
        shown_(length_, ::isatty(STDERR_FILENO) == 1 && !asked.json) {
    check();
  }

  void run() {
    try {
      move_bytes();
      complete();
      shown_.finish();
    } catch (const failure& e) {
      shown_.finish();
      done_.bytes = shown_.bytes();
      throw failure(fmt::format("{}; {} {} written, {}", e.what(), how_much(),
                                shown_.bytes() == 1 ? "was" : "were", what_is_left()));
    }
  }

 private:
  void check() const {
    const std::uint64_t there = from_.size().value_or(0);
    if (asked_.size && from_.size() && *asked_.size > there)
      throw failure(fmt::format("--size {}: {} has only {}", exact_size_text(*asked_.size),
                                from_.name(), exact_size_text(there)));
    if (asked_.verify) check_verifiable(from_, to_);
    const std::size_t align = alignment();
    if (align > 1 && asked_.block && *asked_.block % align != 0)
      throw failure(
          fmt::format("--block {} with --direct: direct I/O between these two wants a "
                      "multiple of {} bytes",
                      *asked_.block, align));
    if (align > 1 && to_.is_device() && length_.value_or(0) % align != 0)
      throw failure(
          fmt::format("--direct: {} bytes are no multiple of {}, and a device cannot be "
                      "cut to length",
                      length_.value_or(0), align));
  }

  std::size_t alignment() const { return std::max(from_.alignment(), to_.alignment()); }

  void move_bytes() {
    if (asked_.engine != "auto") {
      const engine& one = find_engine(asked_.engine);
      if (asked_.direct && !one.has_buffers)
        throw failure(
            fmt::format("--direct with --engine {}: only engines with buffers of their own "
                        "can do that: sync, posix-aio, uring",
                        one.name));
      try {
        return run_engine(one);
      } catch (const refusal& e) {
        throw failure(fmt::format("engine {}: {}", one.name, e.what()));
      }
    }
    if (may_share(asked_, from_, to_) && shared()) return;
    const auto names = candidates(asked_, from_, to_);
    for (const std::string_view name : names) {
      try {
        return run_engine(find_engine(name));
      } catch (const refusal& e) {
        if (name == names.back()) throw;
        done_.refused.push_back({std::string(name), e.what()});
      }
      if (to_.is_fresh()) to_.clear();
      shown_.restart();
    }
  }

  bool shared() {
    const std::string reason = share(from_, to_);
    if (!reason.empty()) {
      done_.refused.push_back({"reflink", reason});
      return false;
    }
    done_.engine = "reflink";
    done_.reflink = true;
    done_.bytes = *length_;
    shown_.add(*length_);
    return true;
  }

  void run_engine(const engine& one) {
    // A target that is not new may have data in the place of holes; a source that was not opened
    // here is not searched for them, and one without a size would be a hole all of it.
    const bool sparse = from_.is_regular() && from_.is_ours() && from_.size() && to_.is_fresh();
    plan pieces(from_, length_, sparse, alignment());
    std::size_t block = asked_.block.value_or(asked_.direct ? block_direct : one.block_default);
    block = (block + alignment() - 1) / alignment() * alignment();
    const std::size_t depth = one.depth_default == 1 ? 1 : asked_.depth.value_or(one.depth_default);
    if (one.has_buffers && block > memory_max / depth)
      throw failure(fmt::format("--block {} with --depth {}: too large; together at most {}", block,
                                depth, size_text(memory_max)));
    transfer work{from_, to_, pieces, shown_, block, depth, alignment()};
    done_.engine = one.name;
    done_.block = block;
    done_.depth = depth;
    one.run(work);
    refuse_unseen(one, pieces);
    done_.holes = pieces.holes();
    done_.bytes = pieces.length().value_or(pieces.position());
    check_length();
  }

  /// Finds bytes that an engine has not seen: the kernel copies nothing from files that it
  /// generates, and calls that success (copy_file_range(2), BUGS).
  void refuse_unseen(const engine& one, const plan& pieces) const {
    const std::uint64_t copied = pieces.length().value_or(pieces.position());
    if (one.has_buffers || !from_.is_regular() || copied >= length_.value_or(UINT64_MAX)) return;
    std::byte next{};
    if (read_some(from_, &next, 1, copied) == 0) return;
    const std::string reason = fmt::format("{} sees nothing in {} behind {}", one.name,
                                           from_.name(), exact_size_text(copied));
    if (copied == 0) throw refusal(reason);
    throw failure(reason);
  }

  /// Fewer bytes than there were, or than --size wants, are no copy.
  void check_length() const {
    const bool is_short = length_ && done_.bytes < *length_;
    if (is_short && asked_.size && (!from_.size() || from_.claims_bytes_at(done_.bytes)))
      throw failure(fmt::format("{} ended after {}; --size wants {}", from_.name(),
                                exact_size_text(done_.bytes), exact_size_text(*asked_.size)));
    if (is_short && !from_.claims_bytes_at(done_.bytes))
      throw failure(fmt::format("{} shrank from {} to {} while it was copied", from_.name(),
                                exact_size_text(*length_), exact_size_text(done_.bytes)));
    if (shown_.bytes() + done_.holes != done_.bytes)
      throw failure(fmt::format("a bug of engine {}: {} bytes are missing", done_.engine,
                                done_.bytes - done_.holes - shown_.bytes()));
  }

  void complete() {
    done_.seconds = shown_.seconds();
    note_changes();
    if (!to_.in_place_reason().empty())
      done_.notes.push_back(
          fmt::format("{} was written in place: {}", to_.name(), to_.in_place_reason()));
    drop_direct();
    to_.finish(done_.bytes, from_);
    if (!done_.reflink && done_.engine == "copy-range") done_.reflink = is_shared(to_);
    if (asked_.sync) {
      shown_.stage("waiting for the disk ...");
      to_.synchronize();
      done_.synced = true;
    }
    if (asked_.verify) {
      verify(from_, to_, done_.bytes, shown_);
      done_.verified = true;
    }
    to_.publish(asked_.sync);
    move_standard_offsets();
  }

  void note_changes() {
    struct stat now = {};
    const struct stat& before = from_.status();
    if (!from_.is_regular() || !from_.size() || ::fstat(from_.fd(), &now) != 0) return;
    if (now.st_size > before.st_size && !asked_.size)
      done_.notes.push_back(fmt::format(
          "{} grew while it was copied, to {}; the copy has the first {}", from_.name(),
          exact_size_text(static_cast<std::uint64_t>(now.st_size)), exact_size_text(done_.bytes)));
    else if (now.st_mtim.tv_sec != before.st_mtim.tv_sec ||
             now.st_mtim.tv_nsec != before.st_mtim.tv_nsec)
      done_.notes.push_back(from_.name() + " was changed while it was copied");
  }

  /// What follows reads and writes as it likes.
  void drop_direct() const {
    if (!asked_.direct) return;
    for (const int fd : {from_.fd(), to_.fd()})
      if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_DIRECT) != 0)
        throw failure(errno_text("leaving direct I/O", errno));
  }

  /// Who shares standard input or output with us goes on behind what was copied.
  void move_standard_offsets() const {
    if (!from_.is_ours() && from_.is_seekable())
      ::lseek(from_.fd(), static_cast<off_t>(from_.base() + done_.bytes), SEEK_SET);
    if (to_.is_inherited() && to_.is_seekable())
      ::lseek(to_.fd(), static_cast<off_t>(to_.base() + done_.bytes), SEEK_SET);
  }

  std::string how_much() const {
    const std::string text = exact_size_text(shown_.bytes());
    return length_ ? fmt::format("{} of {}", text, size_text(*length_)) : text;
  }
  std::string what_is_left() const {
    if (to_.is_published()) return fmt::format("{} is complete", to_.name());
    if (to_.is_hidden() || (to_.is_regular() && !to_.is_fresh() && shown_.bytes() == 0))
      return to_.untouched();
    if (to_.is_regular()) return fmt::format("{} has a part of the copy", to_.name());
    return fmt::format("to {}", to_.name());
  }

  const settings& asked_;
  outcome& done_;
  source from_;
  target to_;
  std::optional<std::uint64_t> length_;
  progress shown_;
};

}  // namespace

void copy(const settings& asked, outcome& done) {
  one_copy work(asked, done);
  work.run();
}

}  // namespace beck_copy
