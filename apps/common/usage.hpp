// SPDX-License-Identifier: BSL-1.0
//
// The end of a command line that asks for help or the version, or is wrong.
#pragma once

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace beck_apps {

/// Prints what parsing has ended with: help or the version as a result on standard output, an error
/// on standard error. Returns the exit status: 0; 1 if the result was lost; 2 for an error.
int print_usage(const CLI::App& app, const CLI::ParseError& what);

}  // namespace beck_apps
