// SPDX-License-Identifier: BSL-1.0
//
// Numbers on the command lines of the examples.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace example {

/// The whole text as a number. Throws std::invalid_argument, which shows the text.
inline long number(const char* text) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0')
    throw std::invalid_argument(std::string("not a number: ") + text);
  return value;
}

}  // namespace example
