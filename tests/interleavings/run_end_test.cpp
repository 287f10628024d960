// SPDX-License-Identifier: BSL-1.0
// How run() ends because of other threads, and what may follow at once: the destruction of the loop
// by the thread that ran it (src/io/loop/run_end.hpp, runner_slot.hpp and mailbox.hpp together, as
// io_loop uses them).
#include "io/loop/run_end.hpp"

#include <optional>

#include "interleavings/mailbox_parts.hpp"
#include "interleavings/report_outcome.hpp"
#include "io/loop/mailbox.hpp"
#include "io/loop/runner_slot.hpp"

using beck::interleavings::check;
using beck::interleavings::defect;
using beck::interleavings::expect_found;
using beck::interleavings::expect_sound;
using beck::interleavings::letter;
using beck::interleavings::letters;
using beck::interleavings::mailbox_model;
using beck::interleavings::modelled_atomics;
using beck::interleavings::needless_orders;
using beck::interleavings::outcome;
using beck::interleavings::plain;
using beck::interleavings::scenario;
using beck::interleavings::wake_counter;
using beck::interleavings::world;

namespace {

using modelled_slot = beck::detail::basic_runner_slot<modelled_atomics>;

// A loop as far as its end is concerned.
struct small_loop {
  wake_counter descriptor;
  modelled_slot slot;
  beck::detail::basic_run_end<modelled_atomics> end;
  letter wake_runner;
  beck::detail::basic_mailbox<mailbox_model> mail;

  small_loop() {
    mailbox_model::descriptor = &descriptor;
    mail.open(0);
    wake_runner.next.called("the shared entry's link");
    world& w = world::now();
    w.name_locations({"slot", "stopped", "pushed", "work", "busy", "mail", "running_thread"});
    w.name_value(&wake_runner, "NUDGE");
    w.name_value(mailbox_model::asleep(), "ASLEEP");
  }

  void finish() {  // as the destructor of io_loop does
    check(slot.take(modelled_slot::holder::runner), "nobody runs it");
    if (!world::now().planted("no waiting for the busy")) end.wait_for_stragglers();
    take_mail();
    mail.drain_owed_wakeups();
    descriptor.close();
  }

  void take_mail() {
    if (mail.empty()) return;
    letters taken;
    mail.take(taken);
    for (std::size_t i = 0; i < taken.all.size(); ++i) end.woken();
  }

  void run() {
    check(slot.take(modelled_slot::holder::runner), "nobody else runs it");
    while (!end.stopped()) {
      take_mail();
      if (end.stopped()) break;
      if (!mail.empty()) continue;
      if (!end.has_work() && mail.empty()) {
        end.stop_here();
        break;
      }
      if (!mail.sleep()) continue;
      descriptor.wait();
      mail.awake();
    }
    slot.leave();
  }

  void stop() {
    end.stop([this] { mail.push(&wake_runner); }, [] {});
  }
  void end_work() {
    end.end_work(-1, [this] { mail.push(&wake_runner); });
  }
};

// Thread 1 runs the loop until it ends and destroys it at once. What it sees last of each of the
// others is their change; they touch nothing afterwards that is not waited for.
struct loop_end : scenario {
  std::optional<small_loop> loop{std::in_place};

  std::string name_of(unsigned thread) const override {
    return thread == 1 ? "loop" : "other " + std::to_string(thread - 1);
  }
  void run_and_destroy() {
    loop->run();
    loop->finish();
    loop.reset();
  }
};

// One that stops the loop. Nothing else would end it.
struct end_by_stop : loop_end {
  end_by_stop() { loop->end.count_work(1); }
  unsigned threads() const override { return 2; }
  void run(unsigned thread) override {
    if (thread == 1) {
      run_and_destroy();
    } else {
      loop->stop();
    }
  }
};

// Two ends of work, the second of which ends the loop.
struct end_by_work : loop_end {
  end_by_work() { loop->end.count_work(2); }
  unsigned threads() const override { return 3; }
  void run(unsigned thread) override {
    if (thread == 1) {
      run_and_destroy();
    } else {
      loop->end_work();
    }
  }
};

// Work that ends, begins again and ends: the second end spares its wake_runner while the first is
// under way. Wherever the loop is meanwhile, it must not sleep for ever.
struct end_by_spared_nudge : loop_end {
  end_by_spared_nudge() { loop->end.count_work(1); }
  unsigned threads() const override { return 2; }
  void run(unsigned thread) override {
    if (thread == 1) return loop->run();
    loop->end_work();
    loop->end.count_work(1);
    loop->end_work();
  }
};

// The same with a stop, from a third thread.
struct end_by_spared_stop : loop_end {
  end_by_spared_stop() { loop->end.count_work(1); }
  unsigned threads() const override { return 3; }
  void run(unsigned thread) override {
    if (thread == 1) return loop->run();
    if (thread == 3) return loop->stop();
    loop->end_work();
    loop->end.count_work(1);
  }
};

// Thread 1 stops the loop in a handler, and another returns from its wait for a turn because of it:
// its caller reads the handler's results.
struct end_seen_in_wait : loop_end {
  plain<int> result{0};
  end_seen_in_wait() { result.called("a handler's result"); }
  unsigned threads() const override { return 2; }
  void run(unsigned thread) override {
    if (thread == 1) {
      result = 1;
      loop->end.stop_here();
    } else if (loop->end.stopped()) {
      check(result == 1, "the results of the handler that has stopped the loop are there");
    }
  }
};

// Thread 1 runs an idle loop twice for a moment, two others borrow it: one at a time is inside.
struct borrowed_loop : scenario {
  modelled_slot slot;
  plain<int> inside{0};
  int borrowed = 0;

  borrowed_loop() {
    world::now().name_locations({"slot"});
    inside.called("what only the holder may touch");
  }
  unsigned threads() const override { return 3; }
  std::string name_of(unsigned thread) const override {
    return thread == 1 ? "runner" : "borrower " + std::to_string(thread - 1);
  }
  void hold() {
    inside = inside + 1;
    slot.leave();
  }
  void run(unsigned thread) override {
    if (thread != 1) {
      if (!slot.take(modelled_slot::holder::borrower)) return;
      ++borrowed;
      return hold();
    }
    for (int i = 0; i < 2; ++i) {
      check(slot.take(modelled_slot::holder::runner), "a borrower is waited for");
      hold();
    }
  }
  void check_end() override { check(inside == 2 + borrowed, "each one was inside alone"); }
};

}  // namespace

TEST_CASE("interleavings: a loop that another thread stops ends, and may be destroyed at once") {
  expect_sound<end_by_stop>("stop and destruction", {.preemptions_max = 3});
}

TEST_CASE(
    "interleavings: a loop whose last work ends elsewhere ends, and may be destroyed at once") {
  expect_sound<end_by_work>("two ends of work and destruction");
}

TEST_CASE("interleavings: a wake-up that is spared because one is under way is not lost") {
  expect_sound<end_by_spared_nudge>("an end of work that spares its wake-up");
  expect_sound<end_by_spared_stop>("a stop that spares its wake-up");
}

TEST_CASE("interleavings: a thread whose wait for a turn a stop ends sees the handler's results") {
  expect_sound<end_seen_in_wait>("a stop that a waiting thread sees");
}

TEST_CASE("interleavings: a loop has one holder at a time, and a borrower does not fail a run") {
  expect_sound<borrowed_loop>("runner slot, 1 runner and 2 borrowers");
}

TEST_CASE("interleavings: planted in the end of a loop: it does not wait for a thread in stop()") {
  const outcome o = expect_found<end_by_stop>("no waiting for the busy",
                                              {defect::kind::disobey, "no waiting for the busy"});
  CHECK(o.failure.find("was destroyed") != std::string::npos);
}

TEST_CASE("interleavings: planted in the end of a loop: the stop is relaxed") {
  const outcome o = expect_found<end_by_stop>("stop relaxed", {defect::kind::weaken, "stop"});
  CHECK(o.failure.find("was destroyed") != std::string::npos);
}

TEST_CASE(
    "interleavings: planted in the end of a loop: the shared entry is freed by load and store") {
  const outcome o = expect_found<end_by_spared_stop>("woken torn", {defect::kind::tear, "woken"});
  CHECK(o.failure.find("loop waits for the wake descriptor") != std::string::npos);
}

TEST_CASE("interleavings: planted in the runner slot: leaving it is relaxed") {
  const outcome o = expect_found<borrowed_loop>("leave relaxed", {defect::kind::weaken, "leave"});
  CHECK(o.failure.starts_with("data race"));
}

TEST_CASE(
    "interleavings: no memory order at the end of a loop is weaker or stronger than it must be") {
  // The runner itself may take work to zero as well; here only other threads do.
  CHECK(needless_orders<end_by_stop, end_by_work, end_by_spared_nudge, end_by_spared_stop,
                        end_seen_in_wait>("run_end.hpp") == std::vector<std::string>{"count_work"});
  CHECK(needless_orders<borrowed_loop>("runner_slot.hpp").empty());
}
