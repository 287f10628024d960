// SPDX-License-Identifier: BSL-1.0
// The real system, except for calls that a test makes fail or counts.
#pragma once

#include <cerrno>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "io/system/posix_system.hpp"
#include "support/context_seam.hpp"

namespace beck::test {
using namespace detail;

class faulty_system final : public posix_system {
 public:
  /// The errors (errno values) that the next accepts return.
  std::deque<int> accept_errors;

  int accept(int fd, void* address, std::size_t& bytes) noexcept override {
    if (accept_errors.empty()) return posix_system::accept(fd, address, bytes);
    const int error = accept_errors.front();
    accept_errors.pop_front();
    return -error;
  }

  /// The time that the clock shows, in place of the real one; 0: the real one.
  std::int64_t clock_ns = 0;

  /// The time that passes before each of the next readings of that clock.
  std::deque<std::int64_t> pauses;

  std::int64_t now() noexcept override {
    if (clock_ns == 0) return posix_system::now();
    if (pauses.empty()) return clock_ns;
    clock_ns += pauses.front();
    pauses.pop_front();
    return clock_ns;
  }

  /// The number of the next batches that find no room.
  int refused_batches = 0;

  std::ptrdiff_t send_messages(int fd, message_header* headers,
                               std::size_t count) noexcept override {
    if (refused_batches == 0) return posix_system::send_messages(fd, headers, count);
    --refused_batches;
    return -EAGAIN;
  }

  /// The number of calls of receive_vector().
  int vector_receives = 0;

  std::ptrdiff_t receive_vector(int fd, io_vector* parts, std::size_t count,
                                bool& dropped_control) noexcept override {
    ++vector_receives;
    return posix_system::receive_vector(fd, parts, count, dropped_control);
  }

  /// Called after each splice with its number, from 1 on.
  std::function<void(int)> after_splice;
  int splices = 0;

  std::ptrdiff_t splice(int from, int to, std::size_t bytes, bool own_reader) noexcept override {
    const std::ptrdiff_t moved = posix_system::splice(from, to, bytes, own_reader);
    if (after_splice) after_splice(++splices);
    return moved;
  }
};

/// Puts a faulty system below a context over a real kernel that has no objects yet.
inline faulty_system& make_faulty(io_context& context) {
  auto system = std::make_unique<faulty_system>();
  faulty_system& made = *system;
  testing::context_seam::replace_system(context, std::move(system));
  return made;
}

}  // namespace beck::test
