// SPDX-License-Identifier: BSL-1.0
// The parser of a session, from one connection to the next.
#include "redis/session/token_input.hpp"

#include <cstring>

namespace beck::redis::detail {
namespace {

/// Returns the limits of a parser whose user reads and drops pushes that are too large.
parse_limits without_push_limit(parse_limits most) noexcept {
  most.push_bytes = UINT32_MAX;
  return most;
}

}  // namespace

token_input::token_input(const parse_limits& most) noexcept
    : most_(without_push_limit(most)), parser_(most_) {
  parser_.expect_pushes_inside(true);
}

void token_input::lose() noexcept {
  rest_.clear();
  parser_ = reply_parser(most_);
  parser_.expect_pushes_inside(true);
}

/// Adds bytes to those that are no whole token yet.
void token_input::keep(std::string_view bytes) {
  std::memcpy(rest_.prepare(bytes.size()).data(), bytes.data(), bytes.size());
  rest_.commit(bytes.size());
}

}  // namespace beck::redis::detail
