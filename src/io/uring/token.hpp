// SPDX-License-Identifier: BSL-1.0
// The number by which a completion is recognised: an operation's address, or a descriptor's index
// and generation, told apart by the low bits.
#pragma once

#include <cstdint>

#include "io/op/descriptor.hpp"

namespace beck::uring {
using namespace detail;

enum class token_kind : std::uint64_t {
  operation = 0,  ///< the address of the io_op, aligned to 8
  poll = 1,       ///< index << 32 | generation << 3
  wake = 2,       ///< the poll of the wake descriptor
  internal = 3,   ///< a cancel: its target's result says all that its own does
  marker = 4,     ///< completions before it were complete in the enter that submitted it
};

inline constexpr std::uint64_t kind_mask = 7;
inline constexpr std::uint64_t wake_token = static_cast<std::uint64_t>(token_kind::wake);
inline constexpr std::uint64_t internal_token = static_cast<std::uint64_t>(token_kind::internal);
inline constexpr std::uint64_t marker_token = static_cast<std::uint64_t>(token_kind::marker);

inline token_kind kind_of(std::uint64_t token) noexcept {
  return static_cast<token_kind>(token & kind_mask);
}

inline std::uint64_t token_of(const io_op& op) noexcept {
  return reinterpret_cast<std::uint64_t>(&op);
}
inline io_op& operation_of(std::uint64_t token) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel carries pointers as numbers
  return *reinterpret_cast<io_op*>(token);
}

inline std::uint64_t token_of(const descriptor& d) noexcept {
  return std::uint64_t{d.index} << 32 | static_cast<std::uint32_t>(d.generation << 3) |
         static_cast<std::uint64_t>(token_kind::poll);
}
inline std::uint32_t index_of(std::uint64_t token) noexcept {
  return static_cast<std::uint32_t>(token >> 32);
}

}  // namespace beck::uring
