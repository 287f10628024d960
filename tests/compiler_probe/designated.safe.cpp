// SPDX-License-Identifier: BSL-1.0
// A constructor and setters that chain take the place of designated initialisers.
#include "probe.hpp"

class options {
 public:
  options() {}
  options& size(int v) & {
    size_ = probe::tracked(v);
    return *this;
  }
  options&& size(int v) && { return std::move(size(v)); }
  int size() const { return size_.value(); }

 private:
  probe::tracked size_;
};

probe::task call(options o) { co_return o.size(); }

probe::task body() { co_return co_await call(options().size(5)); }

int main() { return body().run() == 5 && probe::every_life_ended_once() ? 0 : 1; }
