// SPDX-License-Identifier: BSL-1.0
//
// A socket that is never empty: another process writes to it as fast as it takes the bytes, so that
// none of the writer's CPU time counts as the peer's. The flooded case of read_until reads it
// beside everything else, and every byte is compared and counted.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "micro.hpp"

namespace bench {

class flood {
 public:
  static constexpr std::size_t read_bytes = std::size_t{64} * 1024;

  // Starts the writer, on --other-cpu. Make it before any context and any thread: it forks.
  explicit flood(const settings& s);
  flood(const flood&) = delete;
  flood& operator=(const flood&) = delete;

  // Read this socket into buffer(), read_bytes at a time, and call took() with what each read gave.
  [[nodiscard]] int flooded_socket() const { return sockets_.near; }
  [[nodiscard]] char* buffer() const { return buffer_.get(); }
  void took(std::size_t bytes);

  // Call after meter.finish(), and go on reading until the end of the stream.
  void stop_writing();

  // Adds what was read to the report, and fails if it is not what was written. Call at the end of
  // the stream.
  void conclude(meter& m);

 private:
  struct shared_state;  // in memory that both processes see

  [[noreturn]] void write_until_stopped(int cpu);

  socket_pair sockets_;
  shared_state* shared_;
  std::unique_ptr<char[]> buffer_;
  pid_t writer_ = -1;
  std::uint64_t taken_ = 0;
  std::uint64_t taken_in_the_run_ = 0;
};

}  // namespace bench
