// SPDX-License-Identifier: BSL-1.0
// Objects that each thread has one of, until it ends.
#include <doctest/doctest.h>
#include <atomic>
#include <string>
#include <thread>

#include "base/thread_store.hpp"
#include "support/allocations.hpp"
#include "support/report.hpp"

using beck::detail::of_this_thread;
using beck::test::allocation_fault;

namespace {

// What the threads of a case did, in order. One thread writes at a time.
std::string history;

template <char Name>
struct noted {
  noted() { history += Name; }
  ~noted() { history += static_cast<char>(Name + 'a' - 'A'); }
  noted(const noted&) = delete;
  noted& operator=(const noted&) = delete;
};

using first = noted<'A'>;
using second = noted<'B'>;

template <class Body>
std::string history_of_a_thread(Body body) {
  history.clear();
  std::thread(body).join();
  return history;
}

}  // namespace

TEST_CASE("a thread has one object of a type, made when it is first asked for") {
  const std::string seen = history_of_a_thread([] {
    CHECK(of_this_thread<first>::find() == nullptr);
    first& one = of_this_thread<first>::get();
    of_this_thread<second>::get();
    CHECK(&of_this_thread<first>::get() == &one);
    CHECK(of_this_thread<first>::find() == &one);
    std::thread([&one] { CHECK(&of_this_thread<first>::get() != &one); }).join();
  });
  CHECK(seen == "ABAaba");
}

TEST_CASE("an object of a thread that is made while the thread ends is destroyed, too") {
  struct late_user {
    ~late_user() { of_this_thread<first>::get(); }
    char mark = 0;
  };
  const std::string seen = history_of_a_thread([] {
    static thread_local late_user late;  // destroyed after the objects that follow
    late.mark = 1;
    of_this_thread<first>::get();
  });
  CHECK(seen == "AaAa");
}

TEST_CASE("an object whose destructor asks for another one leaves none behind") {
  struct asks_again {
    ~asks_again() { of_this_thread<second>::get(); }
    char mark = 0;
  };
  CHECK(history_of_a_thread([] { of_this_thread<asks_again>::get(); }) == "Bb");
}

TEST_CASE("without memory a thread gets no object, and one when there is memory again") {
  if (!beck::test::counts_allocations()) SKIP_CASE("this build has an operator new of its own");
  const std::string seen = history_of_a_thread([] {
    {
      const allocation_fault none(1);
      CHECK_THROWS_AS(of_this_thread<first>::get(), std::bad_alloc);
    }
    CHECK(of_this_thread<first>::find() == nullptr);
    of_this_thread<first>::get();
  });
  CHECK(seen == "Aa");
}
