// SPDX-License-Identifier: BSL-1.0
// Requests to a system that take more than a few arguments: the delivery of signals, name lookups
// in the terms of getaddrinfo(3) and getnameinfo(3), and child processes.
#pragma once

#include <cstddef>

#include <beck/io/signal_set.hpp>

// The interface to which a system delivers signals. It is small because a real system calls it from
// inside a signal handler.
namespace beck::detail {

class signal_sink {
 public:
  static constexpr int number_max = 64;

  /// Takes a signal. Must be async-signal-safe. Thread: any, at any point of its program.
  virtual void signalled(const signal_info& info) noexcept = 0;

 protected:
  ~signal_sink() = default;
};

// Name lookups in the terms of getaddrinfo(3) and getnameinfo(3), and the types for their answers.

struct name_question {
  const char* host;     ///< nullptr: this machine
  const char* service;  ///< nullptr: port 0
  int family;           ///< 0: any
  int type;
  int protocol;
  unsigned flags;  ///< AI_*
};

/// Takes the addresses, in their order. An exception that it throws becomes -ENOMEM.
class name_sink {
 public:
  virtual ~name_sink() = default;
  virtual void canonical_name(const char* name) = 0;
  /// Takes a sockaddr_in or sockaddr_in6.
  virtual void address(const void* address, std::size_t bytes) = 0;
};

/// The names of an address and its service; both end in NUL.
struct name_texts {
  char host[1025];
  char service[33];
};

// The request for a child process, and its result.

struct spawn_request {
  enum class stream : unsigned char { inherited, null, handle, pipe, output };

  const char* program;
  char* const* arguments;    ///< with the program's name, up to a nullptr
  char* const* environment;  ///< up to a nullptr; nullptr: the parent's
  const char* directory;     ///< nullptr: the parent's
  stream streams[3];
  int handles[3];  ///< of the streams that are stream::handle
};

struct spawned_child {
  int pid = -1;
  int handle = -1;             ///< its pidfd
  int ends[3] = {-1, -1, -1};  ///< the parent's ends of its pipes, non-blocking
  bool bad_directory = false;  ///< set with an error whose reason is the directory
};

}  // namespace beck::detail
