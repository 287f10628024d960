// SPDX-License-Identifier: BSL-1.0
// The struct has a constructor, so it is no aggregate; and it is named first.
#include "probe.hpp"

#include <type_traits>

class options {
 public:
  options(probe::tracked size, const char* name) : size_(std::move(size)), name_(name) {}
  int size() const { return name_ != nullptr ? size_.value() : 0; }

 private:
  probe::tracked size_;
  const char* name_;
};
static_assert(!std::is_aggregate_v<options>);

probe::task call(options o) { co_return o.size(); }

probe::task named() {
  options o(probe::tracked(5), "x");
  co_return co_await call(std::move(o));
}

probe::task inside() { co_return co_await call(options(probe::tracked(5), "x")); }

int main() {
  return named().run() == 5 && inside().run() == 5 && probe::every_life_ended_once() ? 0 : 1;
}
