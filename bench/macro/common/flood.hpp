// SPDX-License-Identifier: BSL-1.0
//
// A socket that is never empty: another process writes to it as fast as it accepts bytes. It is
// another process so that none of the writer's CPU time counts as the peer's. The flooded case of
// read_until reads this socket beside its other work, and compares and counts every byte.
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

  // Returns the socket to read: read it into buffer(), `read_bytes` at a time, and call took() with
  // the number of bytes of each read.
  [[nodiscard]] int flooded_socket() const { return sockets_.near; }
  [[nodiscard]] char* buffer() const { return buffer_.get(); }
  void took(std::size_t bytes);

  // Stops the writer. Call it after meter.finish(), and then read until the end of the stream.
  void stop_writing();

  // Adds the number of bytes read to the report; ends the program with a message if they are not
  // the bytes written. Call it at the end of the stream.
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
