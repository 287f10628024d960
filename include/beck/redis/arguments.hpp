// SPDX-License-Identifier: BSL-1.0
//
// The arguments of one command: a view of texts, or of a command's bytes as they are sent. The
// table of commands, clients and servers read both through this type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::redis {

namespace detail {

/// An argument that the program has marked as a key.
struct key_mark {
  std::uint32_t command;   // of its request
  std::uint32_t argument;  // of that command
};

/// The bytes of some whole commands, one behind the other.
struct command_bytes {
  std::string_view wire;
  std::uint32_t commands = 0;
  const key_mark* marks = nullptr;  ///< of all of them
  std::size_t mark_count = 0;
};

}  // namespace detail

/// A view of a command's name and arguments, which must outlive it. A copy is a view of the same.
/// Reading them in order costs O(1) each; going back in a command of the wire's form costs a walk
/// from its front. Thread: one at a time.
class arguments {
 public:
  /// Refers to no command.
  arguments() noexcept = default;
  /// Refers to `count` texts: the name, then the arguments.
  arguments(const std::string_view* texts, std::size_t count) noexcept
      : texts_(texts), count_(count) {}
  /// Refers to the first command in `wire`, such as "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n". Requires a
  /// whole command that a request has written or a request_parser has accepted.
  explicit arguments(std::string_view wire) noexcept;
  /// As above; `marks`: those of its request from the first one of the command `number` on.
  arguments(std::string_view wire, const detail::key_mark* marks, std::size_t mark_count,
            std::uint32_t number) noexcept;

  /// Returns the number of texts, the name included.
  std::size_t size() const noexcept { return count_; }
  /// Returns the text `i`; 0 is the name. Requires i < size(), asserted.
  std::string_view operator[](std::size_t i) const noexcept;
  /// Returns whether the program has marked the text `i` as a key. Takes O(mark_count()).
  bool is_marked(std::size_t i) const noexcept;
  /// Returns how many texts are marked as keys.
  std::size_t mark_count() const noexcept { return mark_count_; }
  /// Returns which text has the mark `m`; they are in order. Requires m < mark_count(), asserted.
  std::size_t marked(std::size_t m) const noexcept;
  /// Returns the bytes of the command; empty if it was made of texts. Costs a walk to its end.
  std::string_view wire() const noexcept;

 private:
  void read_text() const noexcept;

  const std::string_view* texts_ = nullptr;
  const char* wire_ = nullptr;  // the whole command
  std::size_t count_ = 0;
  const detail::key_mark* marks_ = nullptr;
  std::size_t mark_count_ = 0;
  // The place in a command of the wire's form: of the text at_, that begins with "$".
  const char* first_ = nullptr;
  mutable const char* text_ = nullptr;
  mutable std::size_t text_bytes_ = 0;
  mutable std::size_t at_ = 0;
};

}  // namespace beck::redis
