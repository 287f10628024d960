// SPDX-License-Identifier: BSL-1.0
// The private queue of a thread of a shared context (src/io/shared/private_queue.hpp), and how the
// thread learns without a lock which other to wake (src/io/shared/idle_threads.hpp): others steal
// while the owner pushes and pops; and a handler queues an entry and then waits for it, while the
// other thread is about to sleep. With them the mailbox of a shared context, which one thread
// empties while another sleeps.
#include "io/shared/private_queue.hpp"

#include <array>
#include <optional>
#include <vector>

#include "interleavings/mailbox_parts.hpp"
#include "interleavings/report_outcome.hpp"
#include "io/loop/mailbox.hpp"
#include "io/shared/idle_threads.hpp"

using beck::interleavings::bounds;
using beck::interleavings::check;
using beck::interleavings::defect;
using beck::interleavings::expect_found;
using beck::interleavings::expect_sound;
using beck::interleavings::letter;
using beck::interleavings::letters;
using beck::interleavings::mailbox_model;
using beck::interleavings::modelled_atomics;
using beck::interleavings::mutex;
using beck::interleavings::needless_orders;
using beck::interleavings::outcome;
using beck::interleavings::place;
using beck::interleavings::plain;
using beck::interleavings::scenario;
using beck::interleavings::wake_counter;
using beck::interleavings::world;

namespace {

struct job {
  plain<int> content;
};

// Whoever uses it must be ordered, as with any container.
class jobs {
 public:
  bool empty() const { return used_ >= 0 && all_.empty(); }
  void push(job* one) {
    ++used_;
    all_.push_back(one);
  }
  job* pop() {
    ++used_;
    job* const first = all_.front();
    all_.erase(all_.begin());
    return first;
  }
  void append(jobs& other) {
    while (!other.empty()) push(other.pop());
  }

 private:
  plain<int> used_;
  std::vector<job*> all_;
};

struct queue_model : modelled_atomics {
  using entry = job;
  using queue = jobs;
};
using modelled_queue = beck::detail::basic_private_queue<queue_model>;
using modelled_sleep_state = beck::detail::basic_sleep_state<modelled_atomics>;
using level = modelled_sleep_state::level;

// The owner queues three and runs what is left to it; another thread steals twice.
struct theft : scenario {
  std::array<job, 3> made;
  modelled_queue queue;
  std::vector<int> by_owner;
  std::vector<int> by_thief;

  theft() { world::now().name_locations({"lock", "count"}); }
  unsigned threads() const override { return 2; }
  std::string name_of(unsigned thread) const override { return thread == 1 ? "owner" : "thief"; }
  void run(unsigned thread) override {
    if (thread == 2) return steal();
    for (int i = 0; i < 3; ++i) {
      made[static_cast<std::size_t>(i)].content = i;
      queue.push(&made[static_cast<std::size_t>(i)]);
      if (i == 1) pop();
    }
    while (pop()) {}
  }
  bool pop() {
    job* const one = queue.pop();
    if (one != nullptr) by_owner.push_back(one->content);
    return one != nullptr;
  }
  void steal() {
    for (int i = 0; i < 2; ++i) {
      if (queue.count() == 0) continue;
      jobs stolen;
      const unsigned count = queue.steal(stolen);
      unsigned taken = 0;
      for (; !stolen.empty(); ++taken) by_thief.push_back(stolen.pop()->content);
      check(taken == count, "a thief counts wrongly");
    }
  }
  void check_end() override {
    std::array<int, 3> seen{};
    for (const std::vector<int>* list : {&by_owner, &by_thief}) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        ++seen[static_cast<std::size_t>((*list)[i])];
        check(i == 0 || (*list)[i - 1] < (*list)[i], "entries came out of order");
      }
    }
    check(seen == std::array{1, 1, 1}, "each entry comes once");
    check(queue.count() == 0, "the count is wrong");
  }
};

// A handler queues an entry and waits until it has been run. The other thread looks for work and
// then sleeps until it is woken; at first it may be one that would have looked again by itself.
struct waiting_handler : scenario {
  explicit waiting_handler(level at_first) {
    world::now().name_locations({"lock", "count", "level"});
    sleep_state.set(at_first);
  }

  job made;
  modelled_queue queue;
  modelled_sleep_state sleep_state;
  mutex lock;
  wake_counter bed;
  bool asleep = false;
  bool ran = false;

  unsigned threads() const override { return 2; }
  std::string name_of(unsigned thread) const override {
    return thread == 1 ? "handler" : "other thread";
  }
  void run(unsigned thread) override { thread == 1 ? handle() : help(); }

  void handle() {
    made.content = 1;
    queue.push(&made);
    if (sleep_state.get() == level::unwatched) {
      lock.lock();
      const bool wakes = asleep;
      asleep = false;
      lock.unlock();
      if (wakes) bed.write();
    }
    world::now().wait_until([this] { return ran; }, "what it has queued", place::current());
  }

  bool steal() {
    if (queue.count() == 0) return false;
    jobs stolen;
    queue.steal(stolen);
    if (stolen.empty()) return false;
    check(stolen.pop()->content == 1, "a job lost what it holds");
    ran = true;
    return true;
  }

  void help() {
    while (!ran) {
      lock.lock();
      sleep_state.set(level::unwatched);
      const bool found = !world::now().planted("no last look") && steal();
      if (!found) asleep = true;
      lock.unlock();
      if (found) return;
      bed.wait();
      steal();
    }
  }
  void check_end() override { check(ran, "the entry was not run"); }
};
struct before_anybody_sleeps : waiting_handler {
  before_anybody_sleeps() : waiting_handler(level::nobody) {}
};
struct when_a_watch_ends : waiting_handler {
  when_a_watch_ends() : waiting_handler(level::watched) {}
};

// Mail of a shared context: one thread sleeps in the kernel, another one looks meanwhile, and wakes
// the sleeper if it has taken something.
struct shared_mail : scenario {
  wake_counter descriptor;
  std::optional<beck::detail::basic_mailbox<mailbox_model>> mail;
  mutex lock;
  std::array<letter, 2> sent;
  std::size_t received = 0;
  unsigned others = 0;  // wake-ups that it owes
  bool left = false;

  shared_mail() {
    mailbox_model::descriptor = &descriptor;
    mail.emplace();
    mail->open(0);
    world::now().name_locations({"mail", "running_thread"});
    world::now().name_value(mailbox_model::asleep(), "ASLEEP");
    world::now().name_value(nullptr, "EMPTY");
  }
  unsigned threads() const override { return 3; }
  std::string name_of(unsigned thread) const override {
    return thread == 1 ? "sleeper" : thread == 2 ? "other thread" : "poster";
  }
  void run(unsigned thread) override {
    if (thread == 1) return sleep();
    if (thread == 2) return look_twice();
    for (letter& one : sent) {
      one.content = 1;
      mail->push(&one);
    }
  }
  // Under the lock.
  std::size_t take() {
    const bool any = world::now().planted("takes the mark") ? !mail->empty() : mail->has_mail();
    if (!any) return 0;
    letters taken;
    mail->take(taken);
    for (letter* one : taken.all) check(one->content == 1, "a letter lost what it holds");
    received += taken.all.size();
    return taken.all.size();
  }
  void sleep() {
    lock.lock();
    for (take(); received < sent.size(); take()) {
      if (!mail->sleep()) continue;
      lock.unlock();
      descriptor.wait();
      lock.lock();
      mail->awake();
    }
    lock.unlock();
    world::now().wait_until([this] { return left; }, "the other thread", place::current());
    mail->drain_owed_wakeups(others);
    descriptor.close();
  }
  void look_twice() {
    for (int i = 0; i < 2; ++i) {
      lock.lock();
      const bool wakes = take() != 0;
      others += wakes ? 1 : 0;
      lock.unlock();
      if (wakes) descriptor.write();
    }
    left = true;
  }
  void check_end() override { check(received == sent.size(), "a letter was lost"); }
};

constexpr bounds calm{.old_values_max = 1, .spurious_max = 0};

}  // namespace

TEST_CASE("interleavings: a private queue loses and doubles nothing while others steal") {
  expect_sound<theft>("private queue, owner with 3 entries, thief");
}

TEST_CASE("interleavings: an entry behind a handler that waits for it is run") {
  expect_sound<before_anybody_sleeps>("sleep state, a thread goes to sleep");
  expect_sound<when_a_watch_ends>("sleep state, a watch ends");
}

TEST_CASE("interleavings: who looks into the mail of a shared context leaves a sleeper its mark") {
  expect_sound<shared_mail>("mailbox, a sleeper and another who takes, 2 posts", calm);
}

TEST_CASE(
    "interleavings: no memory order of private queues is weaker or stronger than it must be") {
  CHECK(needless_orders<theft>("spin_lock.hpp").empty());
  CHECK(needless_orders<before_anybody_sleeps, when_a_watch_ends>("idle_threads.hpp").empty());
}

TEST_CASE("interleavings: planted in the sleep state: the fence of whoever queues is missing") {
  const outcome o =
      expect_found<before_anybody_sleeps>("no fence in get", {defect::kind::weaken, "get"});
  CHECK(o.failure.find("what it has queued") != std::string::npos);
}

TEST_CASE("interleavings: planted in the sleep state: the fence of whoever sleeps is missing") {
  expect_found<when_a_watch_ends>("no fence in set", {defect::kind::weaken, "set"});
}

TEST_CASE("interleavings: planted beside the sleep state: nobody looks before it sleeps") {
  expect_found<before_anybody_sleeps>("no last look", {defect::kind::disobey, "no last look"});
}

TEST_CASE("interleavings: planted in the private queue: its lock is a load and a store") {
  expect_found<theft>("try_lock torn", {defect::kind::tear, "try_lock"});
}

TEST_CASE("interleavings: planted in shared mail: another thread takes the mark of who sleeps") {
  expect_found<shared_mail>("takes the mark", {defect::kind::disobey, "takes the mark"}, calm);
}
