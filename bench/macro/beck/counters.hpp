// SPDX-License-Identifier: BSL-1.0
//
// What the peers of this library share: the choice of the backend, and the figures that a time
// cannot show. A run reports what its context did per operation: kernel entries, queue entries,
// direct system calls and those made in vain, and every call of operator new in the process.
#pragma once

#include <beck/io/io_context.hpp>
#include <cstdint>

#include "../common/settings.hpp"

namespace beck_peer {

// A context on the backend that --backend names; a refusal ends the run with its reason.
beck::io_context::options context_options(const bench::settings& s);

// Takes the counters of a context at one moment, and gives what has been added since.
class counters {
 public:
  explicit counters(const beck::io_context& context) : context_(context) { restart(); }

  void restart();

  // Calls note(name, value) for each figure, divided by the number of operations. Outside of the
  // measured part.
  template <class Note>
  void report(std::uint64_t operations, Note note) const {
    constexpr std::size_t count_max = 20;
    figure figures[count_max];
    const std::size_t count = collect(operations, figures);
    for (std::size_t i = 0; i < count; ++i) note(figures[i].name, figures[i].value);
  }

 private:
  struct figure {
    const char* name;
    double value;
  };

  std::size_t collect(std::uint64_t operations, figure* figures) const;

  const beck::io_context& context_;
  beck::context_stats begin_;
  std::uint64_t allocations_ = 0;
};

}  // namespace beck_peer
