// SPDX-License-Identifier: BSL-1.0
//
// The two ways of arming receives on a ring that the raw peers compare. Eager: a receive is
// submitted at once and finds no data, so the kernel must poll, wake and run task work for it.
// Lazy: a receive waits on a list and is submitted one turn later, behind the sends of the next
// batch; then it usually finds its data and completes inline.
#pragma once

#include <cstddef>
#include <vector>

#include "ring.hpp"

namespace raw {

// `Arm` is a callable that prepares the receive of one socket, given its index.
template <class Arm>
class arming {
 public:
  arming(ring& r, bool lazy, Arm arm) : ring_(r), lazy_(lazy), arm_(arm) {}

  // Requests the next receive of a socket.
  void want(std::size_t index) {
    if (lazy_)
      young_.push_back(index);
    else
      arm_(index);
  }

  // Runs one turn: submits, and waits if there is nothing to do. The lists are flushed before a
  // wait that may sleep, so no receive is lost, or late by more than one turn.
  void turn() {
    flush(old_);
    old_.swap(young_);
    if (!old_.empty()) {
      ring_.enter(0);
      if (ring_.has_completions()) return;
      flush(old_);
    }
    ring_.enter(1);
  }

 private:
  void flush(std::vector<std::size_t>& list) {
    for (const std::size_t index : list) arm_(index);
    list.clear();
  }

  ring& ring_;
  bool lazy_;
  Arm arm_;
  std::vector<std::size_t> old_;
  std::vector<std::size_t> young_;
};

}  // namespace raw
