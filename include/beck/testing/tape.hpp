// SPDX-License-Identifier: BSL-1.0
// Tapes: every choice made in a simulated world, as bytes. A tape replays a run without its seed,
// fits on a command line, can be shrunk, and is the input that a fuzzer mutates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck {

namespace detail {
struct sim_tape;

}  // namespace detail

namespace testing::sim {

/// The draws of one run. `world w(t)` replays it: each subsystem gets the choices of its own stream
/// in order, brought into the range that it needs, and after the end of a stream the calmest
/// choice. So any program can replay any tape; the run is the same only if the program is.
/// A value; different threads may use different tapes.
class tape {
 public:
  /// Makes a tape without draws: every choice is the calmest one.
  tape();
  tape(const tape& other);
  tape(tape&& other) noexcept;
  tape& operator=(const tape& other);
  tape& operator=(tape&& other) noexcept;
  ~tape();

  /// Returns the tape of these bytes(). Throws io_error (invalid_argument) with the reason if they
  /// are not those of a tape; they may come from anywhere.
  static tape from_bytes(std::string_view bytes);
  /// Returns the tape of this text(); white space around it is ignored. Throws as from_bytes(). The
  /// text has a checksum.
  static tape from_text(std::string_view text);
  /// Returns the tape in a file that contains its text or bytes. Throws io_error that names the
  /// file.
  static tape load(std::string_view path);
  /// Writes text() and a newline to a file. Throws io_error that names the file.
  void save(std::string_view path) const;

  /// Returns the bytes. They are valid until the tape is assigned to or moved from.
  std::string_view bytes() const noexcept;
  /// Returns a text of letters, digits, '-' and '_', valid as bytes().
  std::string_view text() const noexcept;

  /// Returns the seed of the run.
  std::uint64_t seed() const noexcept;
  /// Returns the number of draws.
  std::size_t draws() const noexcept;
  /// Returns the number of draws that are not the calmest choice.
  std::size_t choices() const noexcept;

  friend bool operator==(const tape& a, const tape& b) noexcept { return a.bytes() == b.bytes(); }

 private:
  friend class world;
  friend struct tape_access;

  struct state;
  explicit tape(state* made) noexcept : state_(made) {}

  state* state_;
};

}  // namespace testing::sim

}  // namespace beck
