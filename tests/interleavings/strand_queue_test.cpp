// SPDX-License-Identifier: BSL-1.0
// The queue of a strand (src/run/strand_queue.hpp): three posters, each of which runs the strand if
// its post finds nobody in charge; handlers that post from inside; and a slice of one handler, so
// that charge is given up and taken again as often as can be.
#include "run/strand_queue.hpp"

#include <array>
#include <vector>

#include "interleavings/atomic.hpp"
#include "interleavings/report_outcome.hpp"

using beck::interleavings::atomic;
using beck::interleavings::bounds;
using beck::interleavings::check;
using beck::interleavings::defect;
using beck::interleavings::expect_found;
using beck::interleavings::expect_sound;
using beck::interleavings::needless_orders;
using beck::interleavings::outcome;
using beck::interleavings::plain;
using beck::interleavings::scenario;
using beck::interleavings::world;

namespace {

struct handler : beck::detail::queue_entry {
  handler() : queue_entry{nullptr, nullptr} {}
  plain<int> number;
};

// The posts of thread 1 are 1 and 2, those of thread 2 are 3 and 4, and so on.
struct strand_of : scenario {
  explicit strand_of(unsigned posters) : posters_(posters) {
    world& w = world::now();
    w.name_locations({"strand"});
    inside_.called("what only the strand touches");
    for (handler& h : posted_) {
      h.number.called("what a poster gives to its handler");
      w.name_value(&h, names[&h - posted_.data()]);
    }
  }

  unsigned threads() const override { return posters_; }
  std::string name_of(unsigned thread) const override { return "poster " + std::to_string(thread); }

  void post(unsigned which) {
    handler& h = posted_[which];
    h.number = static_cast<int>(which);
    if (queue_.push(&h)) run_strand();
  }

  void run_strand() {
    do {
      auto* const next = static_cast<handler*>(queue_.pop());
      if (next != nullptr) handle(*next);
    } while (!queue_.rest());
  }

  virtual void handle(handler& h) {
    check(!busy_, "two handlers ran at once");
    busy_ = true;
    inside_ = inside_ + 1;
    ran_.push_back(h.number);
    world::now().point();  // another thread may look in
    busy_ = false;
  }

  void run(unsigned thread) override {
    post(2 * thread - 1);
    post(2 * thread);
  }

  std::size_t position(int number) const {
    for (std::size_t i = 0; i < ran_.size(); ++i) {
      if (ran_[i] == number) return i;
    }
    world::now().fail("a handler was lost");
    return 0;
  }

  void check_end() override {
    check(ran_.size() == 2 * posters_, "a handler was lost or ran twice");
    for (int first = 1; first < static_cast<int>(2 * posters_); first += 2) {
      check(position(first) < position(first + 1), "the posts of one thread came out of order");
    }
  }

 protected:
  static constexpr const char* names[] = {"h0", "h1", "h2", "h3", "h4", "h5", "h6"};

  unsigned posters_;
  beck::detail::basic_strand_queue<atomic> queue_;
  std::array<handler, 7> posted_;
  plain<int> inside_{0};
  bool busy_ = false;
  std::vector<int> ran_;
};

struct three_posters : strand_of {
  three_posters() : strand_of(3) {}
};
struct two_posters : strand_of {
  two_posters() : strand_of(2) {}
};

// Thread 1 posts 1 from outside and says so; the handler 3 of thread 2 hears of it perhaps, and
// posts 4 from inside: behind 1 if it did.
struct post_from_inside : strand_of {
  post_from_inside() : strand_of(2) { world::now().name_locations({"strand", "said"}); }

  void run(unsigned thread) override {
    if (thread == 2) return post(3);
    post(1);
    said_.store(1, std::memory_order_release);
    post(2);
  }
  void handle(handler& h) override {
    strand_of::handle(h);
    if (&h != &posted_[3]) return;
    heard_ = said_.load(std::memory_order_acquire) == 1;
    posted_[4].number = 4;
    queue_.push_in_charge(&posted_[4]);
  }
  void check_end() override {
    strand_of::check_end();
    if (heard_) check(position(1) < position(4), "a post from inside overtook one that was before");
  }

 private:
  atomic<int> said_{0};
  bool heard_ = false;
};

// Thread 2 goes in at once where nobody is in charge, as a dispatch does.
struct visitor : strand_of {
  visitor() : strand_of(2) {}

  void run(unsigned thread) override {
    if (thread == 1) return strand_of::run(1);
    if (!queue_.begin()) {
      post(3);
    } else {
      posted_[3].number = 3;
      handle(posted_[3]);
      if (!queue_.rest()) run_strand();
    }
    post(4);
  }
};

}  // namespace

TEST_CASE(
    "interleavings: a strand of three posters runs one at a time, loses nothing, keeps order") {
  expect_sound<three_posters>("strand, 3 posters x 2 posts", {.old_values_max = 1});
  expect_sound<two_posters>("strand, 2 posters x 2 posts", {.preemptions_max = 3});
}

TEST_CASE("interleavings: a post from inside a strand goes behind all that happened before it") {
  expect_sound<post_from_inside>("strand, posts from inside", {.preemptions_max = 3});
}

TEST_CASE(
    "interleavings: what goes into an idle strand at once is alone there, and loses nothing") {
  expect_sound<visitor>("strand, a visitor", {.preemptions_max = 3});
}

TEST_CASE(
    "interleavings: no memory order of a strand's queue is weaker or stronger than it must be") {
  CHECK(needless_orders<two_posters, post_from_inside, visitor>("strand_queue.hpp").empty());
}

TEST_CASE("interleavings: planted in a strand: rest() by load and store loses a handler") {
  const outcome o = expect_found<two_posters>("rest torn", {defect::kind::tear, "rest"});
  CHECK(o.failure.find("lost") != std::string::npos);
}

TEST_CASE("interleavings: planted in a strand: who goes in by load and store is not alone there") {
  expect_found<visitor>("begin torn", {defect::kind::tear, "begin"});
}

TEST_CASE("interleavings: planted in a strand: a push by load and store") {
  expect_found<two_posters>("push torn", {defect::kind::tear, "push"});
}

TEST_CASE("interleavings: planted in a strand: a rest without release is a data race") {
  const outcome o = expect_found<two_posters>("rest relaxed", {defect::kind::weaken, "rest"});
  CHECK(o.failure.starts_with("data race"));
}
