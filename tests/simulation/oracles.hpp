// SPDX-License-Identifier: BSL-1.0
// What must hold in every run, whatever is done and whatever goes wrong: one place, so that every
// random program is judged by the same rules. The first broken rule is kept as a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>

namespace beck::test {

class oracles {
 public:
  /// Keeps the first report; a later one may only follow from it.
  void broken(const std::string& rule) {
    if (report_.empty()) report_ = rule;
  }
  void expect(bool holds, const char* rule) {
    if (!holds) broken(rule);
  }
  /// "" if nothing is broken.
  const std::string& report() const noexcept { return report_; }

  /// While it lives, an operation is being started: nobody may be called back.
  class initiation {
   public:
    explicit initiation(oracles& of) noexcept : of_(of) { ++of_.initiating_; }
    ~initiation() { --of_.initiating_; }
    initiation(const initiation&) = delete;
    initiation& operator=(const initiation&) = delete;

   private:
    oracles& of_;
  };
  void called_back() {
    expect(initiating_ == 0, "a callback ran inside the function that started its operation");
  }

  /// Calls `start`, which starts an operation and throws if there is no memory. False: it has; then
  /// nothing may have happened.
  template <class Start>
  bool starts(Start&& start) {
    const initiation inside(*this);
    try {
      start();
    } catch (const std::bad_alloc&) {
      return false;
    }
    started();
    return true;
  }
  void started() noexcept { ++started_; }
  void completed() noexcept { ++completed_; }
  std::uint64_t operations() const noexcept { return started_; }
  /// At the end: every operation has completed.
  void expect_all_completed() {
    if (started_ != completed_) {
      broken(std::to_string(started_) + " operations were started and " +
             std::to_string(completed_) + " have completed");
    }
  }

 private:
  std::string report_;
  int initiating_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t completed_ = 0;
};

/// One operation, which was counted when it started: completes once.
class expected_once {
 public:
  explicit expected_once(oracles& of) noexcept : of_(of) {}
  void happened() {
    of_.expect(!done_, "an operation completed twice");
    done_ = true;
    of_.completed();
  }

 private:
  oracles& of_;
  bool done_ = false;
};

/// One direction of a stream: bytes whose value follows from their position, operations that
/// complete in the order of their start.
class judged_stream {
 public:
  judged_stream(oracles& of, std::uint64_t salt) noexcept : of_(of), salt_(salt) {}

  std::uint64_t written() const noexcept { return written_; }
  std::uint64_t received() const noexcept { return received_; }

  /// Writes the bytes that are to be sent next.
  void fill(char* data, std::size_t bytes) const noexcept;
  void wrote(std::uint64_t bytes) noexcept { written_ += bytes; }
  void got(const char* data, std::size_t bytes);
  /// The stream's end was read, and nothing had gone wrong.
  void ended() {
    if (received_ == written_) return;
    of_.broken(std::to_string(written_) + " bytes were written and " + std::to_string(received_) +
               " arrived before the end");
  }

  std::uint64_t start() noexcept { return starts_++; }
  void not_started() noexcept { --starts_; }
  void complete(std::uint64_t start) {
    of_.expect(start == completions_, "operations on one direction completed out of order");
    ++completions_;
  }

 private:
  /// Returns what stands at `position`, and some of what follows.
  std::string_view text_at(std::uint64_t position) const noexcept;

  oracles& of_;
  std::uint64_t salt_;
  std::uint64_t written_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t starts_ = 0;
  std::uint64_t completions_ = 0;
};

}  // namespace beck::test
