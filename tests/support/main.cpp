// SPDX-License-Identifier: BSL-1.0
// The main function of every test binary.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "support/report.hpp"

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  beck::test::open_report();
  const int status = context.run();
  beck::test::end_report(status);
  return status;
}
