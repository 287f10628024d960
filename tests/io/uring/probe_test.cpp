// SPDX-License-Identifier: BSL-1.0
//
// U13: every way in which a machine may refuse a ring, or give less than asked for, and the words
// for it.
#include "io/uring/probe.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <string>

#include "io/uring/ring_kernel.hpp"
#include "support/conformance.hpp"
#include "support/ring_entries.hpp"
#include "support/scripted_ring.hpp"

using namespace beck::testing;
using namespace beck::uring;

namespace {

constexpr unsigned modern = exclusive_ring_flags | owned_thread_ring_flags;

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

struct probed {
  ring opened;
  probe_result result;

  explicit probed(scripted_kernel& kernel, const ring_options& options = {})
      : result(open_probed(opened, kernel, options)) {
    INFO(result.text);
    CHECK(opened.is_open() == result.opened);
    CHECK(kernel.rings() == (result.opened ? 1 : 0));
    CHECK(kernel.in_flight() == 0);
  }

  void check_works() {
    REQUIRE(result.opened);
    nop(opened, 7);
    CHECK(opened.submit(1, ring::no_deadline, false).status == submit_status::done);
    CHECK(reap(opened) == std::vector<reaped>{{7, 0, 0}});
  }
};

}  // namespace

TEST_CASE("U13: a modern kernel gives all that was asked for, and an idle ring") {
  scripted_kernel kernel;
  probed probe(kernel);
  CHECK(probe.opened.setup_flags() == exclusive_ring_flags);
  CHECK(probe.opened.absolute_deadlines());
  CHECK(probe.opened.stats().enters == 0);
  CHECK(probe.opened.completions_ready() == 0);
  CHECK(probe.result.opcodes.test(IORING_OP_RECV));
  CHECK_FALSE(probe.result.opcodes.test(IORING_OP_SPLICE));
  CHECK(contains(probe.result.text, "256 entries, 4096 completions"));
  CHECK(contains(probe.result.text, "COOP_TASKRUN"));
  CHECK(contains(probe.result.text, "absolute deadlines"));
  CHECK_FALSE(contains(probe.result.text, "given up"));
  probe.check_works();
}

TEST_CASE("U13: flags that only help are given up one by one") {
  struct {
    unsigned unknown;
    unsigned expected;
    const char* word;
  } const steps[] = {
      {setup_no_sqarray, exclusive_ring_flags & ~setup_no_sqarray, "given up: NO_SQARRAY"},
      {setup_no_sqarray | IORING_SETUP_SUBMIT_ALL,
       exclusive_ring_flags & ~(setup_no_sqarray | IORING_SETUP_SUBMIT_ALL), "SUBMIT_ALL"},
      {setup_no_sqarray | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CLAMP,
       exclusive_ring_flags & ~(setup_no_sqarray | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CLAMP),
       "CLAMP"},
  };
  for (const auto& step : steps) {
    scripted_kernel kernel;
    kernel.know_setup_flags(modern & ~step.unknown);
    probed probe(kernel);
    CHECK(probe.opened.setup_flags() == step.expected);
    CHECK(contains(probe.result.text, step.word));
    probe.check_works();
  }
}

TEST_CASE("U13: a kernel without deferred task work gives a cooperative ring instead") {
  scripted_kernel kernel;
  kernel.know_setup_flags(exclusive_ring_flags & ~setup_no_sqarray);
  ring_options options;
  options.flags = owned_thread_ring_flags;
  probed probe(kernel, options);
  CHECK(probe.opened.setup_flags() == (exclusive_ring_flags & ~setup_no_sqarray));
  CHECK(contains(probe.result.text, "DEFER_TASKRUN"));
  probe.check_works();
}

TEST_CASE(
    "U13: a kernel without cooperative task running is refused, as a plain ring is slower than "
    "epoll") {
  scripted_kernel kernel;
  kernel.know_setup_flags(IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP);
  probed probe(kernel);
  CHECK_FALSE(probe.result.opened);
  CHECK(probe.result.error == EINVAL);
  CHECK(contains(probe.result.text, "io_uring_setup: EINVAL"));
}

TEST_CASE("U13: a ring that does not fit the memory limit is tried once more, small") {
  scripted_kernel kernel;
  kernel.limit_entries(64);
  probed probe(kernel);
  CHECK(probe.opened.entries() == 32);
  CHECK(probe.opened.completions() == 256);
  CHECK(contains(probe.result.text, "asked for 256 entries"));
  probe.check_works();
  kernel.limit_entries(16);
  ring second;
  const probe_result refused = open_probed(second, kernel, {});
  CHECK_FALSE(refused.opened);
  CHECK(contains(refused.text, "io_uring_setup: ENOMEM"));
}

TEST_CASE("U13: a refusal that no flag cures is tried once and told with its name") {
  struct {
    int error;
    const char* name;
  } const refusals[] = {
      {EPERM, "EPERM"},   {ENOSYS, "ENOSYS"}, {EMFILE, "EMFILE"},
      {ENFILE, "ENFILE"}, {EACCES, "EACCES"},
  };
  for (const auto& each : refusals) {
    scripted_kernel kernel;
    kernel.refuse_setup(-each.error, 1);
    probed probe(kernel);
    CHECK_FALSE(probe.result.opened);
    CHECK(probe.result.error == each.error);
    CHECK(contains(probe.result.text, (std::string("io_uring_setup: ") + each.name).c_str()));
  }
}

TEST_CASE("U13: queues that cannot be mapped are a refusal") {
  scripted_kernel kernel;
  kernel.refuse_map_after(1);
  probed probe(kernel);
  CHECK_FALSE(probe.result.opened);
  CHECK(contains(probe.result.text, "ENOMEM"));
}

TEST_CASE("U13: a ring that can be set up but not entered is refused") {
  scripted_kernel kernel;
  kernel.fail_enter(-EPERM);
  probed probe(kernel);
  CHECK_FALSE(probe.result.opened);
  CHECK(contains(probe.result.text, "io_uring_enter with a no-op: EPERM"));
}

TEST_CASE("U13: a no-op that fails refuses the ring") {
  scripted_kernel kernel;
  kernel.complete_next(IORING_OP_NOP, -EACCES);
  probed probe(kernel);
  CHECK_FALSE(probe.result.opened);
  CHECK(contains(probe.result.text, "no-op: EACCES"));
}

TEST_CASE("U13: what the driver cannot do without is named when it is missing") {
  struct {
    unsigned opcode;
    const char* name;
  } const needed[] = {
      {IORING_OP_NOP, "NOP"},           {IORING_OP_RECV, "RECV"},
      {IORING_OP_SEND, "SEND"},         {IORING_OP_READ, "READ"},
      {IORING_OP_POLL_ADD, "POLL_ADD"}, {IORING_OP_ASYNC_CANCEL, "ASYNC_CANCEL"},
  };
  for (const auto& each : needed) {
    scripted_kernel kernel;
    kernel.forget_opcode(each.opcode);
    probed probe(kernel);
    CHECK_FALSE(probe.result.opened);
    CHECK(probe.result.text == std::string("io_uring: missing opcode ") + each.name);
  }
  scripted_kernel forgetful;
  forgetful.know_features(IORING_FEAT_SINGLE_MMAP | IORING_FEAT_EXT_ARG);
  CHECK(probed(forgetful).result.text == "io_uring: missing feature NODROP");
}

TEST_CASE("U13: a kernel that will not say which opcodes it has is refused") {
  scripted_kernel kernel;
  kernel.refuse_control(-EACCES);
  probed probe(kernel);
  CHECK_FALSE(probe.result.opened);
  CHECK(contains(probe.result.text, "io_uring_register with PROBE: EACCES"));
}

TEST_CASE("U13: multishot polls are believed when they were seen to work") {
  for (const int error : {-EINVAL, -EOPNOTSUPP}) {
    scripted_kernel kernel;
    kernel.complete_next(IORING_OP_POLL_ADD, error);
    probed probe(kernel);
    CHECK_FALSE(probe.result.opened);
    CHECK(contains(probe.result.text, "multishot POLL_ADD"));
  }
}

TEST_CASE("U13: a kernel without absolute deadlines gets relative ones") {
  scripted_kernel kernel;
  kernel.know_absolute_deadlines(false);
  probed probe(kernel);
  CHECK_FALSE(probe.opened.absolute_deadlines());
  CHECK(contains(probe.result.text, "relative deadlines"));
  probe.check_works();
}

TEST_CASE("U21: a shifted clock gets relative deadlines, and the report says why") {
  for (const std::int64_t shift : {INT64_C(500'000'000'000'000), INT64_C(-500'000'000'000)}) {
    scripted_kernel kernel;
    kernel.shift_clock(shift);
    probed probe(kernel);
    REQUIRE_FALSE(probe.opened.absolute_deadlines());  // else this would wait for days
    CHECK(contains(probe.result.text, "relative deadlines"));
    CHECK(contains(probe.result.text, "time namespace"));
    probe.check_works();
    const std::int64_t soon = kernel.now_ns() + 1'000'000;
    CHECK(probe.opened.submit(1, soon, true).status == submit_status::done);
    CHECK(kernel.now_ns() >= soon);
  }
}

TEST_CASE("U13: passing trouble does not make the probe give up") {
  scripted_kernel kernel;
  kernel.fail_enter(-EAGAIN, 3);
  kernel.fail_enter(-EBUSY);
  kernel.overflow_next(2);
  kernel.reverse_completions(true);
  probed probe(kernel);
  CHECK(probe.opened.setup_flags() == exclusive_ring_flags);
  probe.check_works();
}

TEST_CASE("U13: the words name what an operator can change") {
  refusal_facts facts;
  CHECK(describe_refusal("io_uring_setup", EPERM, facts) ==
        "io_uring_setup: EPERM (seccomp, or kernel.io_uring_disabled = 2)");
  facts.io_uring_disabled = 2;
  CHECK(describe_refusal("io_uring_setup", EPERM, facts) ==
        "io_uring_setup: EPERM (kernel.io_uring_disabled = 2)");
  facts.io_uring_disabled = 1;
  CHECK(contains(describe_refusal("io_uring_setup", EPERM, facts), "io_uring_group"));
  facts.io_uring_disabled = 0;
  CHECK(contains(describe_refusal("io_uring_setup", EPERM, facts), "seccomp"));
  facts.locked_bytes_max = 65536;
  CHECK(describe_refusal("io_uring_setup", ENOMEM, facts) ==
        "io_uring_setup: ENOMEM (locked memory limit 65536 bytes)");
  facts.files_max = 1024;
  CHECK(contains(describe_refusal("io_uring_setup", EMFILE, facts), "limit 1024"));
  CHECK(describe_refusal("io_uring_enter", 12345, facts) == "io_uring_enter: errno 12345");
}

TEST_CASE("U13: the machine this runs on gives a ring or a reason") {
  posix_ring_kernel kernel;
  ring opened;
  const probe_result result = open_probed(opened, kernel, {});
  MESSAGE(result.text);
  CHECK(result.opened == opened.is_open());
  CHECK_FALSE(result.text.empty());
  NEEDS_RING(result);
  CHECK(result.opcodes.test(IORING_OP_RECV));
  nop(opened, 7);
  CHECK(opened.submit(1, ring::no_deadline, false).status == submit_status::done);
  CHECK(reap(opened) == std::vector<reaped>{{7, 0, 0}});
}
