// SPDX-License-Identifier: BSL-1.0
// The post queue and its sleep (src/io/loop/mailbox.hpp): two producers that post twice each, a
// stop from a fourth thread, and a loop that sleeps whenever it finds nothing and is destroyed as
// soon as it has seen all of them, while posters may still be about to write to the wake
// descriptor.
#include "io/loop/mailbox.hpp"

#include <array>
#include <optional>
#include <vector>

#include "interleavings/mailbox_parts.hpp"
#include "interleavings/report_outcome.hpp"

using beck::interleavings::check;
using beck::interleavings::defect;
using beck::interleavings::expect_found;
using beck::interleavings::expect_sound;
using beck::interleavings::letter;
using beck::interleavings::letters;
using beck::interleavings::mailbox_model;
using beck::interleavings::needless_orders;
using beck::interleavings::outcome;
using beck::interleavings::scenario;
using beck::interleavings::wake_counter;
using beck::interleavings::world;

namespace {

struct mailbox_life : scenario {
  enum { the_loop = 1, producer_a, producer_b, stopper };

  wake_counter descriptor;
  std::optional<beck::detail::basic_mailbox<mailbox_model>> mail;
  std::array<letter, 5> sent;  // a1 a2 b1 b2 stop
  std::vector<int> received;
  unsigned events = 0;

  mailbox_life() {
    mailbox_model::descriptor = &descriptor;
    mail.emplace();
    mail->open(0);
    world& w = world::now();
    w.name_locations({"mail", "running_thread"});
    w.name_value(mailbox_model::asleep(), "ASLEEP");
    w.name_value(nullptr, "EMPTY");
    const char* const names[] = {"a1", "a2", "b1", "b2", "stop"};
    for (std::size_t i = 0; i < sent.size(); ++i) {
      sent[i].next.called("a letter's link");
      sent[i].content.called("a letter's content");
      w.name_value(&sent[i], names[i]);
    }
  }

  unsigned threads() const override { return 4; }
  std::string name_of(unsigned thread) const override {
    switch (thread) {
      case the_loop:
        return "loop";
      case producer_a:
        return "producer a";
      case producer_b:
        return "producer b";
      default:
        return "stopper";
    }
  }

  void post(std::size_t which) {
    sent[which].content = static_cast<int>(which) + 1;
    mail->push(&sent[which]);
  }

  void run(unsigned thread) override {
    switch (thread) {
      case the_loop:
        return run_loop();
      case producer_a:
        post(0);
        return post(1);
      case producer_b:
        post(2);
        return post(3);
      default:
        return post(4);
    }
  }

  void take_mail() {
    if (mail->empty()) return;
    letters taken;
    mail->take(taken);
    for (letter* one : taken.all) received.push_back(one->content);
  }

  void run_loop() {
    while (received.size() < sent.size()) {
      take_mail();
      if (received.size() == sent.size() || !mail->sleep()) continue;
      // Once it may be an event of the kernel, or the time, that ends its wait.
      if (events != 0 || world::now().choose(2) == 0) {
        descriptor.wait();
      } else {
        ++events;
      }
      mail->awake();
    }
    take_mail();  // as the destructor of a loop does
    mail->drain_owed_wakeups();
    descriptor.close();
    mail.reset();
  }

  void check_end() override {
    check(received.size() == sent.size(), "a letter came twice");
    std::array<std::size_t, 6> at{};
    for (std::size_t i = 0; i < received.size(); ++i) at[static_cast<std::size_t>(received[i])] = i;
    std::array<int, 6> seen{};
    for (const int content : received) ++seen[static_cast<std::size_t>(content)];
    for (int which = 1; which <= 5; ++which) {
      check(seen[static_cast<std::size_t>(which)] == 1, "each letter comes once");
    }
    check(at[1] < at[2] && at[3] < at[4], "a producer's letters came out of order");
  }
};

}  // namespace

TEST_CASE("interleavings: the mailbox loses and reorders nothing and always wakes its loop") {
  expect_sound<mailbox_life>("mailbox, 2 producers x 2 posts, stop, destruction",
                             {.old_values_max = 1, .spurious_max = 0});
}

TEST_CASE("interleavings: no memory order of the mailbox is weaker or stronger than it must be") {
  CHECK(needless_orders<mailbox_life>("mailbox.hpp", {.old_values_max = 0, .spurious_max = 0})
            .empty());
}

TEST_CASE("interleavings: planted in the mailbox: a sleep by load and store loses a wake-up") {
  const outcome o = expect_found<mailbox_life>("sleep torn", {defect::kind::tear, "sleep"});
  CHECK(o.failure.find("loop waits for the wake descriptor") != std::string::npos);
}

TEST_CASE("interleavings: planted in the mailbox: a push without release is a data race") {
  const outcome o = expect_found<mailbox_life>("push relaxed", {defect::kind::weaken, "push"});
  CHECK(o.failure.starts_with("data race"));
}

TEST_CASE("interleavings: planted in the mailbox: a close that does not wait for what is owed") {
  const outcome o =
      expect_found<mailbox_life>("no settling", {defect::kind::disobey, "no settling"});
  CHECK(o.failure.find("after its close") != std::string::npos);
}
