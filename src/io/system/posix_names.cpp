// SPDX-License-Identifier: BSL-1.0
// Name lookups by getaddrinfo(3) and getnameinfo(3): they read files, ask servers and wait for
// them.
#include <cerrno>
#include <new>

#include <netdb.h>
#include <sys/socket.h>

#include "io/system/posix_system.hpp"
#include "io/system/requests.hpp"

namespace beck::detail {
namespace {

int status_of(int eai) noexcept {
  if (eai == EAI_SYSTEM) return errno != 0 ? -errno : -EIO;
  return eai < 0 ? -eai : eai;
}

}  // namespace

int posix_system::look_up(const name_question& question, name_sink& sink) noexcept {
  addrinfo wanted{};
  wanted.ai_flags = static_cast<int>(question.flags);
  wanted.ai_family = question.family;
  wanted.ai_socktype = question.type;
  wanted.ai_protocol = question.protocol;
  addrinfo* found = nullptr;
  errno = 0;
  const int eai = ::getaddrinfo(question.host, question.service, &wanted, &found);
  if (eai != 0) return status_of(eai);
  int result = 0;
  try {
    if (found->ai_canonname != nullptr) sink.canonical_name(found->ai_canonname);
    for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
      if (at->ai_family == AF_INET || at->ai_family == AF_INET6)
        sink.address(at->ai_addr, at->ai_addrlen);
    }
  } catch (const std::bad_alloc&) {
    result = -ENOMEM;
  }
  ::freeaddrinfo(found);
  return result;
}

int posix_system::name_of(const void* address, std::size_t bytes, bool datagrams,
                          name_texts& names) noexcept {
  const auto* const name = static_cast<const sockaddr*>(address);
  const auto size = static_cast<socklen_t>(bytes);
  const int flags = datagrams ? NI_DGRAM : 0;
  errno = 0;
  int eai = ::getnameinfo(name, size, names.host, sizeof names.host, names.service,
                          sizeof names.service, flags);
  if (eai == 0) return 0;
  // The name of the service is too long, or cannot be looked up: its number is the answer.
  eai = ::getnameinfo(name, size, names.host, sizeof names.host, names.service,
                      sizeof names.service, flags | NI_NUMERICSERV);
  return eai == 0 ? 0 : status_of(eai);
}

}  // namespace beck::detail
