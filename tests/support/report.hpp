// SPDX-License-Identifier: BSL-1.0
// The report of a test binary to ./test. If the environment variable BECK_TEST_REPORT names a file,
// every executed case becomes one line there, and so does every figure passed to report_value;
// tools/totals.py reads them.
#pragma once

namespace beck::test {

// Adds a figure to the report, such as ("schedules", 20000). Figures with one name are summed over
// a run.
void report_value(const char* name, long long value);

// Adds a fingerprint that must not depend on compiler, options or machine, such as the hash of
// seeded runs: ./test fails if two of its builds report different ones under one name.
void report_fingerprint(const char* name, unsigned long long fingerprint);

// Marks the running case as skipped, with a reason; see SKIP_CASE. A case that fails as well counts
// as failed.
void mark_skipped(const char* reason);

// Marks the running case as one of the conformance list; CONFORMANCE does it.
void mark_conformance();

// Called by main: opens the report before the first case, and writes its end mark after the last.
// Without the end mark the whole binary counts as failed, whatever ended it.
void open_report();
void end_report(int exit_status);

}  // namespace beck::test

// Ends the running case as skipped: for behaviour that a machine cannot show, never for defects.
#define SKIP_CASE(reason)               \
  do {                                  \
    ::beck::test::mark_skipped(reason); \
    return;                             \
  } while (false)
