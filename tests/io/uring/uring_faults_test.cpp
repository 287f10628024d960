// SPDX-License-Identifier: BSL-1.0
// The whole library over a kernel that makes one kind of trouble at a time (contracts.md, U1 to
// U18): echo over real socket pairs, every byte checked, nothing left in flight, and the trouble
// was really there.
#include <beck/beck.hpp>
#include <beck/io/uring_submit.hpp>

#include <doctest/doctest.h>

#include <cerrno>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/connections.hpp"
#include "support/context_seam.hpp"
#include "support/echo_load.hpp"
#include "support/outcome.hpp"
#include "support/scale.hpp"
#include "support/scripted_ring.hpp"

using namespace beck::testing;
using beck::buffer;
using beck::error_code;
using beck::test::echo_load;
using beck::test::note;
using beck::test::outcome;
namespace error = beck::error;

namespace {

using stream = beck::local::stream_protocol::socket;

struct trouble {
  std::uint64_t retries = 0;
  ring_script_stats kernel;
};

constexpr unsigned few_entries = 32;
constexpr unsigned many_entries = 256;

/// One load from start to end on a kernel with this seed; `prepare` makes it difficult.
template <class Prepare>
trouble carry(std::uint64_t seed, std::size_t pairs, Prepare prepare,
              unsigned entries = many_entries) {
  CAPTURE(seed);
  scripted_kernel kernel(seed);
  kernel.limit_entries(entries);
  trouble seen;
  {
    beck::io_context ctx(context_seam::on_ring(kernel));
    prepare(kernel);
    echo_load load(ctx, pairs, seed);
    ctx.run();
    CHECK(load.finished() == pairs);
    CHECK(load.wrong_bytes() == 0);
    CHECK(ctx.stats().outstanding == 0);
    seen.retries = ctx.stats().retries;
    seen.kernel = kernel.stats();
  }
  CHECK(kernel.rings() == 0);
  return seen;
}

int seeds() { return beck::test::scaled(20); }

}  // namespace

TEST_CASE("U1: more operations than the submission queue has room for all come to their end") {
  for (int seed = 1; seed <= seeds(); ++seed) {
    const trouble seen = carry(
        static_cast<std::uint64_t>(seed), 60,
        [](scripted_kernel& kernel) { kernel.set_chances({.refuse_enter = 100}); }, few_entries);
    CHECK(seen.kernel.entries_taken > few_entries);
  }
}

TEST_CASE("U1: a close whose cancels find no room in the queue is carried out later") {
  bool refusing = false;  // outlives the context, whose end enters once more
  scripted_kernel kernel;
  kernel.limit_entries(few_entries);
  beck::io_context ctx(context_seam::on_ring(kernel));
  stream closed(ctx);
  stream peer(ctx);
  connect_pair(closed, peer);
  std::vector<char> room(100000);
  outcome parked;
  closed.async_read_some(buffer(room),
                         note(parked));  // waits for readiness: one poll in the kernel
  outcome ended;
  char last = 0;
  peer.async_read_some(buffer(&last, 1), note(ended));
  beck::test::let_settle(ctx);
  std::vector<std::unique_ptr<stream>> others;
  std::vector<outcome> reads(100);
  std::vector<char> bytes(100);
  for (std::size_t i = 0; i < 100; ++i) {
    others.push_back(std::make_unique<stream>(ctx));
    others.push_back(std::make_unique<stream>(ctx));
    connect_pair(*others[2 * i], *others[2 * i + 1]);
    others[2 * i]->async_read_some(buffer(&bytes[i], 1), note(reads[i]));
  }
  refusing = true;
  kernel.on_enter([&] {
    if (refusing) kernel.fail_enter(ENOMEM);
  });
  for (int i = 0; i < 3; ++i) ctx.poll();  // the queue is full of receives now
  closed.close();
  others.clear();
  refusing = false;
  beck::test::run_all(ctx);
  CHECK(parked.aborted());
  CHECK(ended.ended_with(error::eof));
  for (const outcome& read : reads) CHECK((read.aborted() || read.ended_with(error::eof)));
}

TEST_CASE("U1: a cancel that finds no room in the queue is carried out later") {
  bool refusing = false;  // outlives the context, whose end enters once more
  scripted_kernel kernel;
  kernel.limit_entries(few_entries);
  beck::io_context ctx(context_seam::on_ring(kernel));
  stream cancelled(ctx);
  stream peer(ctx);
  connect_pair(cancelled, peer);
  outcome armed;
  char byte = 0;
  cancelled.async_read_some(buffer(&byte, 1), note(armed));
  beck::test::let_settle(ctx);
  std::vector<std::unique_ptr<beck::test::local_connection>> others;
  std::vector<outcome> reads(100);
  std::vector<char> bytes(100);
  for (std::size_t i = 0; i < 100; ++i) {
    others.push_back(std::make_unique<beck::test::local_connection>(ctx));
    others[i]->a.async_read_some(buffer(&bytes[i], 1), note(reads[i]));
  }
  refusing = true;
  kernel.on_enter([&] {
    if (refusing) kernel.fail_enter(ENOMEM);
  });
  for (int i = 0; i < 3; ++i) ctx.poll();  // the queue is full of receives now
  cancelled.cancel();
  for (int i = 0; i < 3; ++i) ctx.poll();
  CHECK(armed.calls == 0);
  refusing = false;
  for (int i = 0; i < 1000 && !armed.done(); ++i) beck::test::let_settle(ctx);
  CHECK(armed.aborted());
}

TEST_CASE("U2: a kernel that stays without memory is asked at intervals, not all the time") {
  scripted_kernel kernel;
  beck::io_context ctx(context_seam::on_ring(kernel));
  beck::test::local_connection c(ctx);
  outcome received;
  char byte = 0;
  const std::uint64_t before = kernel.stats().enters;
  const beck::time_point until = beck::steady_now() + beck::duration(50'000'000);
  kernel.on_enter([&] {
    if (beck::steady_now() < until) kernel.fail_enter(ENOMEM);
  });
  c.a.async_read_some(buffer(&byte, 1), note(received));
  c.b.write_some(buffer("m", 1));
  beck::test::run_all(ctx);
  CHECK(received.ok());
  CHECK(ctx.stats().retries > 0);
  CHECK(kernel.stats().enters - before < 200);  // a loaded machine only makes them fewer
  kernel.on_enter({});
}

TEST_CASE("U2: a kernel without memory for submissions delays and loses nothing") {
  for (int seed = 1; seed <= seeds(); ++seed) {
    const trouble seen = carry(static_cast<std::uint64_t>(seed), 12, [](scripted_kernel& kernel) {
      kernel.set_chances({.refuse_enter = 300});
    });
    CHECK(seen.retries > 0);
  }
}

TEST_CASE("U2: every refusal of an enter is survived, in a row and at any moment") {
  for (const int reason : {EAGAIN, ENOMEM, ENOBUFS}) {
    for (unsigned after = 0; after < 12; ++after) {
      CAPTURE(after);
      carry(after + 1, 4, [reason, after](scripted_kernel& kernel) {
        kernel.on_enter([&kernel, reason, left = after]() mutable {
          if (left-- == 0) kernel.fail_enter(reason, 30);
        });
      });
    }
  }
}

TEST_CASE("U3: a kernel that wants its completions reaped first gets its way") {
  std::uint64_t busy = 0;
  for (int seed = 1; seed <= seeds(); ++seed) {
    const trouble seen = carry(
        static_cast<std::uint64_t>(seed), 60,
        [](scripted_kernel& kernel) { kernel.set_chances({.busy_enter = 500}); }, few_entries);
    busy += seen.retries;
  }
  CHECK(busy > 0);
}

TEST_CASE("U4: waits that signals and time-outs cut short go on with the same deadline") {
  for (int seed = 1; seed <= seeds(); ++seed) {
    carry(static_cast<std::uint64_t>(seed), 6,
          [](scripted_kernel& kernel) { kernel.set_chances({.interrupt = 700}); });
  }
  scripted_kernel kernel;
  beck::io_context ctx(context_seam::on_ring(kernel));
  kernel.set_chances({.interrupt = 1000});
  const beck::time_point start = beck::steady_now();
  beck::steady_timer timer(ctx, beck::duration(3'000'000));
  outcome waited;
  timer.async_wait(note(waited));
  ctx.run();
  CHECK(waited.ok());
  CHECK(beck::steady_now() - start >= beck::duration(3'000'000));  // never early
}

TEST_CASE("U5: completions that overflow their queue are fetched") {
  std::uint64_t overflown = 0;
  std::uint64_t retries = 0;
  for (int seed = 1; seed <= seeds(); ++seed) {
    const trouble seen = carry(
        static_cast<std::uint64_t>(seed), 60,
        [](scripted_kernel& kernel) { kernel.set_chances({.overflow = 500}); }, few_entries);
    overflown += seen.kernel.overflown;
    retries += seen.retries;
  }
  CHECK(overflown > 0);
  CHECK(retries > 0);
}

TEST_CASE("U6: a submission that is taken in parts is repeated for the rest") {
  for (int seed = 1; seed <= seeds(); ++seed) {
    const trouble seen = carry(static_cast<std::uint64_t>(seed), 30, [](scripted_kernel& kernel) {
      kernel.set_chances({.partial_submit = 800});
    });
    CHECK(seen.retries > 0);
  }
}

TEST_CASE("U7: however a cancel ends, its target completes once and no byte is lost") {
  for (int seed = 1; seed <= 5 * seeds(); ++seed) {
    CAPTURE(seed);
    scripted_kernel kernel(static_cast<std::uint64_t>(seed));
    beck::io_context ctx(context_seam::on_ring(kernel));
    kernel.set_chances({.odd_cancel = 700, .hold_completion = 200, .reorder = 300});
    beck::test::cancelled_reader reader(ctx, static_cast<std::uint64_t>(seed));
    ctx.run();
    CHECK(reader.received() == reader.sent());
    CHECK(reader.cancelled() > 0);
    CHECK(ctx.stats().outstanding == 0);
  }
}

TEST_CASE("U8: a multishot poll that ends without need is armed again, whatever the reason") {
  for (int seed = 1; seed <= seeds(); ++seed) {
    carry(static_cast<std::uint64_t>(seed), 12,
          [](scripted_kernel& kernel) { kernel.set_chances({.end_multishot = 500}); });
  }
  for (const int reason : {-ECANCELED, -EFAULT, -EINTR, -EAGAIN}) {
    CAPTURE(reason);
    scripted_kernel kernel;
    beck::io_context ctx(context_seam::on_ring(kernel));
    stream a(ctx);
    stream b(ctx);
    connect_pair(a, b);
    std::vector<char> room(100000);
    for (int i = 0; i < 3; ++i) {
      outcome received;
      a.async_read_some(buffer(room), note(received));
      beck::test::let_settle(ctx);
      CHECK(kernel.end_multishots(reason) >= 1);
      beck::test::let_settle(ctx);
      CHECK(received.calls == 0);
      b.write_some(buffer("more", 4));
      beck::test::run_all(ctx);
      CHECK(received.ok());
      CHECK(received.bytes == 4);
    }
  }
}

TEST_CASE("U8: the poll of the wake descriptor ends and another thread's post still arrives") {
  scripted_kernel kernel;
  beck::io_context ctx(context_seam::on_ring(kernel));
  beck::executor_work_guard work(ctx.get_executor());
  for (int i = 0; i < 20; ++i) {
    beck::test::let_settle(ctx);  // sees that the poll of the last round has ended
    beck::test::let_settle(ctx);
    CHECK(kernel.end_multishots(-ECANCELED) >= 1);
    bool ran = false;
    std::thread other([&] { beck::post(ctx, [&ran] { ran = true; }); });
    CHECK(ctx.run_one() == 1);
    other.join();
    CHECK(ran);
  }
}

TEST_CASE("a poll that overtakes the completion of a receive is not forgotten") {
  scripted_kernel kernel;
  beck::io_context ctx(context_seam::on_ring(kernel));
  beck::test::local_connection c(ctx);
  std::vector<char> room(100000);
  outcome first;
  c.a.async_read_some(buffer(room), note(first));  // too large to be armed: leaves a poll behind
  beck::test::let_settle(ctx);
  c.b.write_some(buffer("1", 1));
  beck::test::run_all(ctx);
  CHECK(first.ok());

  outcome armed;
  char small[8] = {};
  c.a.async_read_some(buffer(small), note(armed));
  beck::test::let_settle(ctx);
  kernel.hold_completions(true);
  for (const char* part : {"ab", "cd"}) {  // received; and an edge of the poll for what follows
    c.b.write_some(buffer(part, 2));
    kernel.look();
    ctx.poll();
  }
  CHECK(armed.calls == 0);
  kernel.reverse_completions(true);
  kernel.hold_completions(false);
  beck::test::run_until(ctx, armed);
  CHECK(armed.bytes == 2);
  outcome last;
  c.a.async_read_some(buffer(room), note(last));
  for (int i = 0; i < 100 && !last.done(); ++i) beck::test::let_settle(ctx);
  CHECK(last.ok());
  CHECK(last.bytes == 2);
}

TEST_CASE("U10: sends that are short in spite of MSG_WAITALL go on until all is sent") {
  for (int seed = 1; seed <= seeds(); ++seed) {
    carry(static_cast<std::uint64_t>(seed), 12,
          [](scripted_kernel& kernel) { kernel.set_chances({.short_transfer = 900}); });
  }
}

TEST_CASE("U10: an error after a short send reports what was sent") {
  scripted_kernel kernel;
  beck::io_context ctx(context_seam::on_ring(kernel));
  stream a(ctx);
  stream b(ctx);
  connect_pair(a, b);
  const std::string data(4 << 20, 's');
  outcome sent;
  async_write(a, buffer(data), note(sent));
  beck::test::let_settle(ctx);
  CHECK(sent.calls == 0);
  std::string got(100000, '?');
  const std::size_t first = beck::read(b, buffer(got));
  beck::test::let_settle(ctx);
  b.close();
  beck::test::run_all(ctx);
  CHECK(sent.ended_with(error::broken_pipe));
  CHECK(sent.bytes > first);
  CHECK(sent.bytes < data.size());
}

TEST_CASE("U17, U18: operations that end because their thread did are submitted again") {
  for (int seed = 1; seed <= seeds(); ++seed) {
    carry(static_cast<std::uint64_t>(seed), 12,
          [](scripted_kernel& kernel) { kernel.set_chances({.lose_submitter = 200}); });
  }
}

TEST_CASE("U18: every kind of operation survives the end of the thread that submitted it") {
  for (const int reason : {-ECANCELED, -EFAULT, -EINTR}) {
    CAPTURE(reason);
    scripted_kernel kernel;
    beck::io_context ctx(context_seam::on_ring(kernel));
    beck::test::kinds_in_flight kinds(ctx);
    for (int i = 0; i < 3; ++i) {
      beck::test::let_settle(ctx);
      kernel.end_operations(reason);
      beck::test::let_settle(ctx);
      CHECK(kinds.completed() == 0);
    }
    kinds.make_all_happen();
    beck::test::run_all(ctx);
    CHECK(kinds.succeeded() == kinds.count());
  }
}

TEST_CASE("U20: a context that ends on a difficult kernel abandons no operation") {
  for (int seed = 1; seed <= seeds(); ++seed) {
    CAPTURE(seed);
    scripted_kernel kernel(static_cast<std::uint64_t>(seed));
    {
      beck::io_context ctx(context_seam::on_ring(kernel));
      kernel.set_chances(rough_chances);
      auto load = std::make_unique<echo_load>(ctx, 10, static_cast<std::uint64_t>(seed));
      for (int i = 0; i < seed; ++i) ctx.poll_one();
      // Goes with the context: were its sockets closed before, it would find nothing in flight.
      beck::post(ctx, [kept = std::move(load)] {});
    }
    CHECK(kernel.rings() == 0);
    CHECK(kernel.stats().abandoned <= 1);  // the poll of the wake descriptor touches no memory
  }
}

TEST_CASE(
    "U20: operations without a descriptor end with a context whose kernel takes no cancel at "
    "first") {
  scripted_kernel kernel;
  kernel.limit_entries(few_entries);
  outcome ends[4];
  char bytes[4] = {};
  {
    beck::io_context quiet({.backend = beck::backend::epoll});
    beck::test::local_connection c(quiet);
    beck::io_context ctx(context_seam::on_ring(kernel));
    for (std::size_t i = 0; i < 4; ++i) {
      const auto fill = [fd = c.a.native_handle(), to = &bytes[i]](io_uring_sqe& entry) {
        entry.opcode = IORING_OP_RECV;
        entry.fd = fd;
        entry.addr = reinterpret_cast<std::uintptr_t>(to);
        entry.len = 1;
      };
      beck::uring::async_submit(ctx, fill,
                                [i, &ends](const error_code& ec, int) { note{ends[i]}(ec); });
    }
    beck::test::let_settle(ctx);
    CHECK(kernel.in_flight() >= 4);
    std::vector<std::unique_ptr<beck::test::local_connection>> others;
    std::vector<outcome> reads(60);
    for (outcome& read : reads) {
      others.push_back(std::make_unique<beck::test::local_connection>(ctx));
      others.back()->a.async_read_some(buffer(bytes, 1), note(read));
    }
    kernel.on_enter([&kernel, left = 300]() mutable {
      if (--left > 0) kernel.fail_enter(ENOMEM);
    });
    ctx.poll();  // the queue is full
  }
  for (const outcome& end : ends) CHECK(end.calls == 0);  // destroyed un-run
  CHECK(kernel.stats().abandoned <= 1);
}

TEST_CASE("rough: everything at once, and every byte arrives") {
  for (int seed = 1; seed <= 2 * seeds(); ++seed) {
    carry(static_cast<std::uint64_t>(seed), 16,
          [](scripted_kernel& kernel) { kernel.set_chances(rough_chances); });
  }
}
