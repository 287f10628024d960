// SPDX-License-Identifier: BSL-1.0
//
// Counters around a run, and an operator new that counts. Two calls by two threads at the same time
// may be counted as one.
#include "counters.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> allocation_count{0};

void* counted(std::size_t bytes) {
  allocation_count.store(allocation_count.load(std::memory_order_relaxed) + 1,
                         std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace beck_peer {

beck::io_context::options context_options(const bench::settings& s) {
  const auto arming = s.arming == "eager"  ? beck::io_context::receive_arming::eager
                      : s.arming == "none" ? beck::io_context::receive_arming::none
                                           : beck::io_context::receive_arming::lazy;
  return {.backend = beck::detail::parse_backend(s.backend.c_str()),
          .arming = arming,
          .batched_sends = s.batched_sends,
          .lazy_speculation = s.speculation,
          .busy_poll = beck::duration(std::int64_t{s.busy_poll_us} * 1000)};
}

void counters::restart() {
  begin_ = context_.stats();
  allocations_ = allocation_count;
}

std::size_t counters::collect(std::uint64_t operations, figure* figures) const {
  const beck::context_stats now = context_.stats();
  const auto per_operation = [&](std::uint64_t end, std::uint64_t begin) {
    return static_cast<double>(end - begin) / static_cast<double>(operations);
  };
  std::size_t count = 0;
  const auto add = [&](const char* name, std::uint64_t beck::context_stats::* field) {
    figures[count++] = {name, per_operation(now.*field, begin_.*field)};
  };
  add("kernel_entries_per_op", &beck::context_stats::kernel_entries);
  add("ring_entries_per_op", &beck::context_stats::entries_submitted);
  add("completions_per_op", &beck::context_stats::completions);
  add("iterations_per_op", &beck::context_stats::iterations);
  add("entries_run_per_op", &beck::context_stats::entries_run);
  add("inline_per_op", &beck::context_stats::inline_completions);
  add("budget_stops_per_op", &beck::context_stats::budget_stops);
  add("attempts_per_op", &beck::context_stats::attempts);
  add("wrong_attempts_per_op", &beck::context_stats::wrong_attempts);
  add("lazy_armed_per_op", &beck::context_stats::lazy_armed);
  add("arming_stops_per_op", &beck::context_stats::arming_stops);
  add("sends_batched_per_op", &beck::context_stats::sends_batched);
  add("speculations_per_op", &beck::context_stats::speculations);
  add("leases_per_op", &beck::context_stats::leases);
  add("spins_per_op", &beck::context_stats::spins);
  add("spin_hits_per_op", &beck::context_stats::spin_hits);
  add("block_misses_per_op", &beck::context_stats::block_misses);
  figures[count++] = {"allocations_per_op", per_operation(allocation_count, allocations_)};
  return count;
}

}  // namespace beck_peer
