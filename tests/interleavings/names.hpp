// SPDX-License-Identifier: BSL-1.0
// Words for traces: the bare name of a function, and of a memory order.
#pragma once

#include <atomic>
#include <string_view>

namespace beck::interleavings {

/// "push" of what a compiler calls "void basic_mailbox<Parts>::push(entry*) [with ...]".
inline std::string_view short_function_name(std::string_view pretty) noexcept {
  std::size_t end = pretty.size();
  int depth = 0;
  for (std::size_t i = 0; i < pretty.size(); ++i) {
    if (pretty[i] == '<') ++depth;
    if (pretty[i] == '>') --depth;
    if (pretty[i] != '(' || depth != 0 || pretty.substr(i).starts_with("(anonymous")) continue;
    end = i;
    break;
  }
  depth = 0;
  for (std::size_t i = end; i > 0; --i) {
    const char c = pretty[i - 1];
    if (c == '>') ++depth;
    if (c == '<') --depth;
    if (depth == 0 && (c == ':' || c == ' ' || c == '*' || c == '&')) {
      return pretty.substr(i, end - i);
    }
  }
  return pretty.substr(0, end);
}

inline const char* name_of(std::memory_order order) noexcept {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_consume:
      return "consume";
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    case std::memory_order_seq_cst:
      return "seq_cst";
  }
  return "?";
}

}  // namespace beck::interleavings
