// SPDX-License-Identifier: BSL-1.0
// The trace of a world: its events as lines for people. It is off until a sink is set.
#pragma once

#include <cstdint>

#include "io/sim/sim_faults.hpp"

namespace beck::detail {

struct sim_socket;

/// The kinds of calls and events: their numbers are part of every hash.
enum class sim_note : std::uint32_t {
  open = 1,
  pair,
  close,
  bind,
  listen,
  shutdown,
  set_option,
  receive,
  send,
  accept,
  connect,
  pending_error,
  poll,
  query,
  file_open,
  file_read,
  file_write,
  file_sync,
  file_resize,
  file_status,
  file_list,
  file_rename,
  file_remove,
  event = 100,
  time,
  fault,
  signal,
  runner,
  job,
  pipe,
  splice,
  look_up,
};

/// Writes the trace of a world to a sink.
class sim_trace {
 public:
  using sink = void (*)(const char* line, void* data);

  /// Sets the sink of the lines; nullptr: none. `origin_ns`: the time that lines show as 0.
  void send_to(sink to, void* data, std::int64_t origin_ns) noexcept {
    sink_ = to;
    data_ = data;
    origin_ns_ = origin_ns;
  }
  bool is_on() const noexcept { return sink_ != nullptr; }

  // Each requires is_on().
  void note(std::int64_t now, const sim_host& host, sim_note what, int fd,
            std::int64_t result) const;
  void fault(std::int64_t now, const sim_host* host, sim_fault which) const;
  /// Writes the arrival of a message at a host; `fd` is -1 where it has no descriptor there.
  void message(std::int64_t now, const char* from, const char* to, const char* what, int fd,
               std::uint64_t value) const;

 private:
  void line(std::int64_t now, const char* text) const;

  sink sink_ = nullptr;
  void* data_ = nullptr;
  std::int64_t origin_ns_ = 0;
};

}  // namespace beck::detail
