// SPDX-License-Identifier: BSL-1.0
// The main function of every test binary. It handles no signals: tests use them, sanitizers explain
// them, and a binary that is ended by one has no end mark in its report.
#define DOCTEST_CONFIG_IMPLEMENT
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS
#include <doctest/doctest.h>

#include <csignal>

#include "support/report.hpp"
#include "support/watchdog.hpp"

int main(int argc, char** argv) {
  // A script that runs the tests in the background ignores these, and so would all children.
  for (const int number : {SIGINT, SIGQUIT, SIGHUP}) std::signal(number, SIG_DFL);
  doctest::Context context(argc, argv);
  beck::test::open_report();
  beck::test::start_watchdog();
  const int status = context.run();
  beck::test::end_report(status);
  return status;
}
