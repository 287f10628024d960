// SPDX-License-Identifier: BSL-1.0
// Writes the report of report.hpp: tab-separated lines, flushed one by one so that a killed process
// leaves the name of the case it died in.
//   start  NAME                      passed|failed|skipped  KIND  MILLISECONDS  NAME  [REASON]
//   value  NAME  NUMBER              same  NAME  FINGERPRINT         end  EXIT_STATUS
//   edge   TYPE  STATE  EVENT  SEEN, for each transition of a table of states: was it made?
#include "support/report.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "base/transition_log.hpp"
#include "support/watchdog.hpp"

namespace beck::test {
namespace {

// One per process, because doctest's listeners are; the running case belongs to the main thread.
struct {
  std::FILE* file = nullptr;
  std::string skip_reason;
  bool conformance = false;
} state;

template <class... Args>
void write_line(const char* format, Args... args) {
  if (state.file == nullptr) return;
  std::fprintf(state.file, format, args...);
  std::fflush(state.file);
}

/// Writes the transitions of the tables that this process has used, if the build counts them.
void report_transitions() {
  const beck::detail::transition_log* log = beck::detail::transition_logs.load();
  for (; log != nullptr; log = log->next) {
    for (std::size_t from = 0; from < log->states; ++from) {
      for (std::size_t event = 0; event < log->events; ++event) {
        if ((log->from[event] >> from & 1) == 0) continue;
        const bool was_seen = log->seen[from][event].load();
        write_line("edge\t%s\t%zu\t%zu\t%d\n", log->type, from, event, was_seen ? 1 : 0);
      }
    }
  }
}

struct case_listener final : doctest::IReporter {
  explicit case_listener(const doctest::ContextOptions&) {}

  void test_case_start(const doctest::TestCaseData& data) override {
    current = &data;
    state.skip_reason.clear();
    state.conformance = false;
    write_line("start\t%s\n", data.m_name);
    watch_case(data.m_name);
  }

  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    watch_case(nullptr);
    const bool passed = stats.failure_flags == 0;
    const char* result = !passed ? "failed" : state.skip_reason.empty() ? "passed" : "skipped";
    if (passed && !state.skip_reason.empty())
      std::printf("skipped: %s: %s\n", current->m_name, state.skip_reason.c_str());
    write_line("%s\t%s\t%.0f\t%s\t%s\n", result, state.conformance ? "conformance" : "case",
               stats.seconds * 1000, current->m_name, state.skip_reason.c_str());
  }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

  const doctest::TestCaseData* current = nullptr;
};

// `--reporters=names --list-test-cases` prints the names alone, one a line, for ./test --list.
struct name_reporter final : doctest::IReporter {
  explicit name_reporter(const doctest::ContextOptions&) {}

  void report_query(const doctest::QueryData& query) override {
    for (unsigned i = 0; i < query.num_data; ++i) std::printf("%s\n", query.data[i]->m_name);
  }

  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

REGISTER_LISTENER("case_report", 1, case_listener);
REGISTER_REPORTER("names", 1, name_reporter);

}  // namespace

void report_value(const char* name, long long value) {
  write_line("value\t%s\t%lld\n", name, value);
}

void report_fingerprint(const char* name, unsigned long long fingerprint) {
  write_line("same\t%s\t%llx\n", name, fingerprint);
}

void mark_skipped(const char* reason) { state.skip_reason = reason; }

void mark_conformance() { state.conformance = true; }

void open_report() {
  const char* path = std::getenv("BECK_TEST_REPORT");
  if (path == nullptr) return;
  state.file = std::fopen(path, "we");
  if (state.file == nullptr) {
    std::perror(path);
    std::exit(2);
  }
  unsetenv("BECK_TEST_REPORT");  // programs that a test starts must not overwrite the report
}

void end_report(int exit_status) {
  report_transitions();
  write_line("end\t%d\n", exit_status);
}

}  // namespace beck::test
