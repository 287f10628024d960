// SPDX-License-Identifier: BSL-1.0
// What a system is asked about names, in the terms of getaddrinfo(3) and getnameinfo(3), and where
// it puts its answers.
#pragma once

#include <cstddef>

namespace beck::detail {

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

}  // namespace beck::detail
