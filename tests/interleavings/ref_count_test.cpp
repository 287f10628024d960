// SPDX-License-Identifier: BSL-1.0
// Reference counts (beck/detail/ref_count.hpp): three threads use, copy and drop one thing, and the
// last of them destroys it, whichever that is.
#include <beck/detail/ref_count.hpp>

#include <optional>

#include "interleavings/atomic.hpp"
#include "interleavings/report_outcome.hpp"

using beck::interleavings::atomic;
using beck::interleavings::check;
using beck::interleavings::defect;
using beck::interleavings::expect_found;
using beck::interleavings::expect_sound;
using beck::interleavings::needless_orders;
using beck::interleavings::outcome;
using beck::interleavings::place;
using beck::interleavings::plain;
using beck::interleavings::scenario;
using beck::interleavings::world;

namespace {

class modelled_count {
 public:
  explicit modelled_count(long initial) : value_(initial) {}
  void add_relaxed(long change, const place& where = place::current()) {
    value_.fetch_add(change, std::memory_order_relaxed, where);
  }
  long add_acq_rel(long change, const place& where = place::current()) {
    return value_.fetch_add(change, std::memory_order_acq_rel, where) + change;
  }

 private:
  atomic<long> value_;
};

struct counted_thing {
  beck::detail::basic_ref_count<modelled_count> count;
  plain<int> first{0};  // each of two threads writes its own part
  plain<int> second{0};
};

// Thread 1 gives a reference to thread 2 and one to thread 3 before they begin, and a further one
// is copied and dropped by thread 2.
struct shared_thing : scenario {
  std::optional<counted_thing> thing{std::in_place};
  int destroyed = 0;

  shared_thing() {
    world::now().name_locations({"count"});
    thing->first.called("a part of the thing");
    thing->second.called("a part of the thing");
    thing->count.add();
    thing->count.add();
  }
  unsigned threads() const override { return 3; }
  std::string name_of(unsigned thread) const override { return "holder " + std::to_string(thread); }
  void drop() {
    if (!thing->count.drop()) return;
    ++destroyed;
    thing.reset();
  }
  void run(unsigned thread) override {
    if (thread == 1) thing->first = 1;
    if (thread == 2) {
      thing->count.add();
      thing->second = 1;
      drop();
    }
    drop();
  }
  void check_end() override { check(destroyed == 1, "it is destroyed once"); }
};

}  // namespace

TEST_CASE("interleavings: what is counted is destroyed once, after every use by any thread") {
  expect_sound<shared_thing>("reference count, 3 holders", {.preemptions_max = 3});
  CHECK(needless_orders<shared_thing>("ref_count.hpp").empty());
}

TEST_CASE("interleavings: planted in reference counts: dropping is relaxed") {
  const outcome o = expect_found<shared_thing>("drop relaxed", {defect::kind::weaken, "drop"});
  CHECK((o.failure.starts_with("data race") || o.failure.find("destroyed") != std::string::npos));
}

TEST_CASE("interleavings: planted in reference counts: dropping is a load and a store") {
  expect_found<shared_thing>("drop torn", {defect::kind::tear, "drop"});
}
