// SPDX-License-Identifier: BSL-1.0
// Dumps as tests compare them: exact, except for the ages, which depend on the machine.
#pragma once

#include <beck/io/io_context.hpp>
#include <regex>
#include <source_location>
#include <string>

namespace beck::test {

// Returns the text with T in place of each time: "waiting T for timer: #1 (due in T)".
inline std::string without_ages(const std::string& text) {
  static const std::regex age("([0-9.,]+( ms| s| min)? to )?[0-9.,]+ (ms|s|min|h)(?![a-z])");
  return std::regex_replace(text, age, "T");
}

inline std::string dump_of(const io_context& ctx) {
  std::string text;
  ctx.dump(text);
  return without_ages(text);
}

// Returns `line` in the file of the caller as dumps print it:
// "conformance/context/dump_test.cpp:17".
inline std::string line_of(unsigned line,
                           std::source_location at = std::source_location::current()) {
  const std::string path = at.file_name();
  const auto folder = path.rfind('/', path.rfind('/') - 1);
  return path.substr(folder + 1) + ":" + std::to_string(line);
}

}  // namespace beck::test
