// SPDX-License-Identifier: BSL-1.0
//
// Links are easy to get wrong and hard to see: random work against a deque, and each misuse.
#include <doctest/doctest.h>

#include <algorithm>
#include <beck/detail/intrusive_list.hpp>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "base/dies.hpp"

namespace {

struct item {
  explicit item(int n) : number(n) {}
  virtual ~item() = default;  // the hook is not at offset 0, and the type is not of standard layout
  int number;
  beck::detail::list_hook hook;
  beck::detail::list_hook other_hook;
  item* next = nullptr;
};
using list = beck::detail::intrusive_list<item, &item::hook>;
using other_list = beck::detail::intrusive_list<item, &item::other_hook>;
using queue = beck::detail::intrusive_queue<item, &item::next>;

std::vector<int> numbers(list& l) {
  std::vector<int> result;
  for (item& i : l) result.push_back(i.number);
  return result;
}
std::vector<int> drain(queue& q) {
  std::vector<int> result;
  while (item* i = q.pop_front()) result.push_back(i->number);
  return result;
}

TEST_CASE("a list keeps the order of its ends and leaves when it is told") {
  item a(1), b(2), c(3);
  list l;
  CHECK(l.empty());
  CHECK(l.front() == nullptr);
  CHECK(l.back() == nullptr);
  CHECK(l.pop_front() == nullptr);
  l.push_back(b);
  l.push_back(c);
  l.push_front(a);
  CHECK(numbers(l) == std::vector{1, 2, 3});
  CHECK(l.front() == &a);
  CHECK(l.back() == &c);
  l.erase(b);
  CHECK(!b.hook.is_linked());
  CHECK(numbers(l) == std::vector{1, 3});
  CHECK(l.pop_front() == &a);
  l.clear();
  CHECK(l.empty());
  CHECK(!c.hook.is_linked());
}

TEST_CASE("an element leaves its list by itself, also by being destroyed") {
  item a(1), c(3);
  list l;
  l.push_back(a);
  {
    item b(2);
    l.push_back(b);
    l.push_back(c);
  }
  CHECK(numbers(l) == std::vector{1, 3});
  a.hook.unlink();
  a.hook.unlink();
  c.hook.unlink();
  CHECK(l.empty());
}

TEST_CASE("an element is in one list per hook") {
  item a(1), b(2);
  list l;
  other_list m;
  l.push_back(a);
  l.push_back(b);
  m.push_back(b);
  m.push_back(a);
  CHECK(l.front() == &a);
  CHECK(m.front() == &b);
  l.clear();
  CHECK(m.pop_front() == &b);
  m.clear();
}

TEST_CASE("the hook may be a member of a base that is not the first") {
  struct first {
    long data = 0;
  };
  struct with_hook {
    beck::detail::list_hook hook;
  };
  struct element : first, with_hook {
    int number = 5;
  };
  element e;
  beck::detail::intrusive_list<element, &element::hook> l;
  l.push_back(e);
  CHECK(l.front() == &e);
  CHECK(l.front()->number == 5);
  l.clear();
}

TEST_CASE("appending a list moves all elements in order") {
  item a(1), b(2), c(3);
  list l, m;
  l.splice_back(m);
  m.push_back(b);
  m.push_back(c);
  l.push_back(a);
  l.splice_back(m);
  CHECK(m.empty());
  CHECK(numbers(l) == std::vector{1, 2, 3});
  m.splice_back(l);
  CHECK(numbers(m) == std::vector{1, 2, 3});
  b.hook.unlink();
  CHECK(numbers(m) == std::vector{1, 3});
  m.clear();
}

TEST_CASE("random work on a list equals the same on a deque") {
  std::mt19937 random(11);
  std::deque<item> items;
  for (int i = 0; i < 50; ++i) items.emplace_back(i);
  list l;
  std::deque<int> model;
  for (int step = 0; step < 5000; ++step) {
    item& i = items[random() % items.size()];
    if (i.hook.is_linked()) {
      l.erase(i);
      model.erase(std::find(model.begin(), model.end(), i.number));
    } else if (random() % 2 == 0) {
      l.push_back(i);
      model.push_back(i.number);
    } else {
      l.push_front(i);
      model.push_front(i.number);
    }
    REQUIRE(numbers(l) == std::vector(model.begin(), model.end()));
  }
  l.clear();
}

TEST_CASE("misuse of a list is noticed") {
  CHECK(dies_with([] {
          item a(1);
          list l;
          l.push_back(a);
          l.push_back(a);
        }).find("in a list already") != std::string::npos);
  CHECK(dies_with([] {
          item a(1);
          list l;
          l.erase(a);
        }).find("in no list") != std::string::npos);
  CHECK(dies_with([] {
          item a(1);
          list l;
          l.push_back(a);
        }).find("destroyed while it had elements") != std::string::npos);
}

TEST_CASE("a queue is first in, first out, and the pointer of a taken element is null") {
  item a(1), b(2), c(3);
  queue q;
  CHECK(q.empty());
  CHECK(q.pop_front() == nullptr);
  q.push_back(a);
  q.push_back(b);
  CHECK(q.front() == &a);
  CHECK(q.pop_front() == &a);
  CHECK(a.next == nullptr);
  q.push_back(c);
  q.push_front(a);
  CHECK(drain(q) == std::vector{1, 2, 3});
  q.push_front(c);
  q.push_back(a);
  CHECK(drain(q) == std::vector{3, 1});
}

TEST_CASE("appending a queue and moving one take all elements") {
  item a(1), b(2), c(3), d(4);
  queue q, r;
  q.push_back(a);
  r.push_back(b);
  r.push_back(c);
  q.splice_back(r);
  CHECK(r.empty());
  r.splice_back(q);
  CHECK(q.empty());
  queue moved = std::move(r);
  CHECK(r.empty());
  moved.push_back(d);
  moved.splice_back(r);
  CHECK(drain(moved) == std::vector{1, 2, 3, 4});
}

TEST_CASE("misuse of a queue is noticed") {
  CHECK(dies_with([] {
          item a(1);
          queue q;
          q.push_back(a);
          q.push_back(a);
        }).find("in a queue already") != std::string::npos);
  CHECK(dies_with([] {
          item a(1), b(2);
          queue q, r;
          q.push_back(a);
          q.push_back(b);
          r.push_back(a);
        }).find("in a queue already") != std::string::npos);
  CHECK(dies_with([] {
          item a(1);
          queue q;
          q.push_back(a);
        }).find("destroyed while it had elements") != std::string::npos);
}

}  // namespace
