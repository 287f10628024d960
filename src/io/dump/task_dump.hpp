// SPDX-License-Identifier: BSL-1.0
// The dump of a context's tasks: walks over them, counts those at the same places together as one
// group, and prints the largest groups. Its memory is bounded, independent of the number of tasks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <beck/detail/text_sink.hpp>

#include "io/dump/dump_writer.hpp"
#include "io/dump/task_walk.hpp"

namespace beck::detail {

class io_loop;

/// The dump of one loop. Thread: the runner of the loop.
class task_dump {
 public:
  static constexpr std::size_t examples_max = 3;
  /// The size of the table of groups, a power of two.
  static constexpr std::size_t slots = 512;
  /// The size of the table if the allocation of the large one has failed.
  static constexpr std::size_t slots_without_memory = 16;

  explicit task_dump(io_loop& loop) noexcept;

  /// Counts all tasks.
  void collect() noexcept;
  void print(text_sink out, std::size_t groups_max) noexcept;

 private:
  struct example {
    short_text<24> name;
    short_text<24> detail;
  };
  /// The tasks at the same places.
  struct group {
    std::uint64_t hash;
    std::uint64_t tasks = 0;  // 0: the slot is free
    std::size_t order;        // number of groups found before
    std::int64_t age_min;     // -1: unknown
    std::int64_t age_max;
    task_view first;
    std::size_t examples = 0;
    std::array<example, examples_max> example_of;
  };

  void add(const task_view& task, const task_path& where) noexcept;
  group* find(std::uint64_t hash) noexcept;
  void note_example(group& g, const task_view& task, const task_path& where) const noexcept;
  void print_group(dump_writer& out, const group& g) const noexcept;
  static void print_frames(dump_writer& out, const task_view& task) noexcept;
  static void print_ages(dump_writer& out, const group& g) noexcept;
  void print_wait(dump_writer& out, const group& g) const noexcept;

  io_loop& loop_;
  const std::int64_t now_;
  std::unique_ptr<group[]> memory_;
  std::array<group, slots_without_memory> without_memory_;
  group* table_;
  std::size_t size_;
  std::size_t groups_ = 0;
  std::uint64_t tasks_ = 0;
  std::uint64_t ungrouped_ = 0;  // tasks for which there was no slot
  std::uint64_t joins_cut_ = 0;  // join points whose branches were left out
};

}  // namespace beck::detail
