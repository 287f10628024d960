// SPDX-License-Identifier: BSL-1.0
// Designated initialisers of a struct that is trivially destructible, as all options of this
// library are: by value, by reference, nested, and with an await inside. A member that owns
// something is set by name before the call.
#include "probe.hpp"

#include <string_view>
#include <type_traits>

struct bounds {
  int most = 1;
  double rate = 0.5;
};
struct options {
  int size = 1;
  std::string_view name = {};
  bounds limits = {};
};
static_assert(std::is_trivially_destructible_v<options>);

struct owning {
  probe::tracked size = probe::tracked(1);
  const char* name = nullptr;
};

int sum(const options& o) {
  return o.size + static_cast<int>(o.name.size()) + o.limits.most +
         (o.limits.rate == 0.5 ? 0 : 100);
}
probe::task by_value(options o) { co_return sum(o); }
probe::task by_reference(const options& o) { co_return sum(o); }
probe::task taken(owning o) { co_return o.size.value(); }
probe::task two() { co_return 2; }

probe::task body() {
  int total = co_await by_value({.size = 5, .name = "x"});                          // 5 + 1 + 1
  total += co_await by_value({.name = "xy", .limits = {.most = 3}});                // 1 + 2 + 3
  total += co_await by_reference({.size = 4, .limits = {.most = 2, .rate = 0.5}});  // 4 + 2
  total += co_await by_value({.size = co_await two(), .name = "x"});                // 2 + 1 + 1
  owning named;
  named.size = probe::tracked(5);
  total += co_await taken(std::move(named));
  co_return total;
}

int main() { return body().run() == 28 && probe::every_life_ended_once() ? 0 : 1; }
