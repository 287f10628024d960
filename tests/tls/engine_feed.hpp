// SPDX-License-Identifier: BSL-1.0
// Input and output of an engine as texts, for tests and fuzzers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tls/engine.hpp"

namespace beck::tls::test {

using detail::engine;
using detail::engine_state;

/// Takes the output of an engine.
inline std::string output_of(engine& e) {
  std::string text;
  for (const const_buffer& part : {e.output(), e.more_output()})
    text.append(static_cast<const char*>(part.data()), part.size());
  e.drop_output();
  return text;
}

/// Gives `input` to an engine, in a copy of its own, and returns what it decrypts. Behind the
/// handshake bytes are decrypted in place if no record is held, as sessions do it.
inline std::string feed(engine& e, std::string_view input, std::string& answer,
                        std::int64_t now = 1) {
  std::string text;
  const std::size_t held = e.held();
  const std::unique_ptr<char[]> copy(new char[input.size() + held]);
  input.copy(copy.get() + held, input.size());
  e.give(copy.get() + held, input.size());
  e.shake();
  answer += output_of(e);
  if (e.state() == engine_state::open) {
    const std::size_t bytes = e.read(copy.get(), input.size() + held, now);
    text.assign(copy.get(), bytes);
    answer += output_of(e);
  }
  e.give(nullptr, 0);
  return text;
}

}  // namespace beck::tls::test
