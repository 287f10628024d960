// SPDX-License-Identifier: BSL-1.0
//
// What a tool prints: messages on standard error, which may be lost, and results, which may not.
#pragma once

#include <string>
#include <string_view>

namespace beck_apps {

/// Opens /dev/null in the place of standard input, output and error as far as they are closed, so
/// that no other file takes their numbers. Uses of them still fail. Call it first.
void fill_standard_descriptors();

/// Returns the text with its control characters as escapes, such as "\n" or "\x1b": names come from
/// other people, and a terminal obeys what it reads.
std::string printable(std::string_view text);

/// Prints a message as one line on standard error, by printable(). Ignores errors: where they could
/// be told is what fails. Keeps errno.
void say(std::string_view message);

/// As say(), on standard output: a server goes on when no one reads where it listens.
void announce(std::string_view message);

/// Writes a result to descriptor `fd`. Throws failure, which begins with `name`, if a part of it is
/// lost.
void write_result(int fd, std::string_view text, const char* name = "standard output");

}  // namespace beck_apps
