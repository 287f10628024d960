// SPDX-License-Identifier: BSL-1.0
// Requests to a system that take more than a few arguments: the delivery of signals, name lookups
// in the terms of getaddrinfo(3) and getnameinfo(3), and child processes.
#pragma once

#include <cstddef>

#include <beck/io/signal_set.hpp>

// Where a system delivers signals: a small door, because a real one calls it from inside a signal
// handler.
namespace beck::detail {

class signal_sink {
 public:
  static constexpr int number_max = 64;

  /// Thread: any, at any point of its program. Whatever it does is async-signal-safe.
  virtual void signalled(const signal_info& info) noexcept = 0;

 protected:
  ~signal_sink() = default;
};

// What a system is asked about names, in the terms of getaddrinfo(3) and getnameinfo(3), and where
// it puts its answers.

struct name_question {
  const char* host;     ///< nullptr: this machine
  const char* service;  ///< nullptr: port 0
  int family;           ///< 0: any
  int type;
  int protocol;
  unsigned flags;  ///< AI_*
};

/// Takes the addresses, in their order. What it throws becomes -ENOMEM.
class name_sink {
 public:
  virtual ~name_sink() = default;
  virtual void canonical_name(const char* name) = 0;
  /// A sockaddr_in or sockaddr_in6.
  virtual void address(const void* address, std::size_t bytes) = 0;
};

/// What an address is called; both end in NUL.
struct name_texts {
  char host[1025];
  char service[33];
};

// What the system is asked for when a child process is made.

struct spawn_request {
  enum class stream : unsigned char { inherited, null, handle, pipe, output };

  const char* program;
  char* const* arguments;    ///< with the program's name, up to a nullptr
  char* const* environment;  ///< up to a nullptr; nullptr: ours
  const char* directory;     ///< nullptr: ours
  stream streams[3];
  int handles[3];  ///< of those that are one
};

struct spawned_child {
  int pid = -1;
  int handle = -1;             ///< its pidfd
  int ends[3] = {-1, -1, -1};  ///< our ends of its pipes, non-blocking
  bool bad_directory = false;  ///< with an error: the directory was the reason
};

}  // namespace beck::detail
