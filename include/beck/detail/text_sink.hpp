// SPDX-License-Identifier: BSL-1.0
// The destination of text that the library writes for people, piece by piece: a string, a stream, a
// file descriptor or a function, without a header of any of them.
#pragma once

#include <string_view>

namespace beck::detail {

/// A destination of text. It refers to the object that it was made from, which must outlive its
/// uses. A value.
class text_sink {
 public:
  using function = void (*)(void* to, std::string_view piece);

  /// Passes each piece to `call(to, piece)`.
  constexpr text_sink(function call, void* to) noexcept : write_(call), to_(to) {}
  /// Writes to the file descriptor `fd`, and drops text that it does not take (a full pipe that
  /// does not block).
  text_sink(int fd) noexcept  // implicit: `ctx.dump(2)` reads well
      : write_(&write_to_descriptor), fd_(fd) {}
  /// Writes to an object with append(data, bytes) or write(data, bytes), such as std::string and
  /// std::ostream, or to one that can be called with a std::string_view.
  template <class Out>
    requires(!std::is_arithmetic_v<std::remove_cvref_t<Out>> &&
             !std::same_as<std::remove_cvref_t<Out>, text_sink>)
  text_sink(Out&& out) noexcept  // implicit: `ctx.dump(std::cerr)` reads well
      : write_(&write_to<std::remove_reference_t<Out>>),
        to_(const_cast<void*>(static_cast<const void*>(__builtin_addressof(out)))) {}

  /// Writes `piece`.
  void write(std::string_view piece) { write_(write_ == &write_to_descriptor ? this : to_, piece); }

 private:
  template <class Out>
  static void write_to(void* to, std::string_view piece) {
    Out& out = *static_cast<Out*>(to);
    if constexpr (requires { out.append(piece.data(), piece.size()); }) {
      out.append(piece.data(), piece.size());
    } else if constexpr (requires { out.write(piece.data(), std::ptrdiff_t{}); }) {
      out.write(piece.data(), static_cast<std::ptrdiff_t>(piece.size()));
    } else {
      out(piece);
    }
  }
  static void write_to_descriptor(void* self, std::string_view piece);

  function write_;
  union {
    void* to_;
    int fd_;
  };
};

}  // namespace beck::detail
