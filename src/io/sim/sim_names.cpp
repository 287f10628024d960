// SPDX-License-Identifier: BSL-1.0
// Looks up names in a simulated world, with the answers that getaddrinfo(3) would return there.
#include "io/sim/sim_name.hpp"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <new>
#include <string_view>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "io/sim/sim_world.hpp"

namespace beck::detail {
namespace {

struct service {
  std::string_view name;
  std::uint16_t port;
};
constexpr service services[] = {{"echo", 7},    {"discard", 9}, {"ftp", 21},    {"ssh", 22},
                                {"smtp", 25},   {"domain", 53}, {"http", 80},   {"ntp", 123},
                                {"imap2", 143}, {"https", 443}, {"imaps", 993}, {"redis", 6379}};

bool same_name(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

/// Sets `port` to that of the question. Returns 0, or the number of an EAI error, positive.
int port_of(const name_question& question, std::uint16_t& port) noexcept {
  port = 0;
  if (question.service == nullptr) return 0;
  const std::string_view text(question.service);
  const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size()) return 0;
  if ((question.flags & AI_NUMERICSERV) != 0) return -(EAI_NONAME);
  for (const service& s : services) {
    if (s.name == text) {
      port = s.port;
      return 0;
    }
  }
  return -(EAI_SERVICE);
}

class answer {
 public:
  answer(const name_question& question, std::uint16_t port, name_sink& sink) noexcept
      : question_(question), port_(port), sink_(sink) {}

  void add(int family, const sim_address& address) {
    if (question_.family != AF_UNSPEC && question_.family != family) return;
    sim_name name;
    name.address = address;
    name.port = port_;
    alignas(8) unsigned char bytes[sizeof(sockaddr_in6)];
    std::size_t size = sizeof bytes;
    write_name(family, name, bytes, size);
    sink_.address(bytes, size);
    ++count_;
  }
  void call(std::string_view name) {
    if ((question_.flags & AI_CANONNAME) != 0) sink_.canonical_name(std::string(name).c_str());
  }
  int result() const noexcept { return count_ != 0 ? 0 : -(EAI_NONAME); }

 private:
  const name_question& question_;
  std::uint16_t port_;
  name_sink& sink_;
  unsigned count_ = 0;
};

constexpr sim_address loopback_v6{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

/// Adds a numeric address; returns false if `host` is none.
bool add_numeric(answer& to, const char* host) {
  sim_address address{};
  in_addr v4;
  if (::inet_pton(AF_INET6, host, address.data()) == 1) {
    to.call(host);
    to.add(AF_INET6, address);
    return true;
  }
  if (::inet_pton(AF_INET, host, &v4) != 1) return false;
  const auto* const b = reinterpret_cast<const std::uint8_t*>(&v4);
  to.call(host);
  to.add(AF_INET, mapped_v4(b[0], b[1], b[2], b[3]));
  return true;
}

/// Adds the addresses of localhost or of a host of the world.
void add_named(answer& to, sim_host& asking, const char* host) {
  if (same_name(host, "localhost")) {
    to.call("localhost");
    to.add(AF_INET6, loopback_v6);
    to.add(AF_INET, mapped_v4(127, 0, 0, 1));
    return;
  }
  for (const sim_host& h : asking.world().hosts()) {
    if (!same_name(h.name(), host)) continue;
    to.call(h.name());
    to.add(AF_INET6, h.address_v6());
    to.add(AF_INET, h.address_v4());
    return;
  }
}

void add_own(answer& to, bool passive) {
  if (passive) {
    to.add(AF_INET, any_address(AF_INET));
    to.add(AF_INET6, any_address(AF_INET6));
  } else {
    to.add(AF_INET6, loopback_v6);
    to.add(AF_INET, mapped_v4(127, 0, 0, 1));
  }
}

}  // namespace

int sim_look_up(sim_host& asking, const name_question& question, name_sink& sink) noexcept {
  if (asking.world().faults().strikes(sim_fault::lookup_failed, &asking)) return -(EAI_AGAIN);
  if (question.host == nullptr && question.service == nullptr) return -(EAI_NONAME);
  std::uint16_t port = 0;
  if (const int refused = port_of(question, port); refused != 0) return refused;
  answer to(question, port, sink);
  try {
    if (question.host == nullptr) {
      add_own(to, (question.flags & AI_PASSIVE) != 0);
    } else if (!add_numeric(to, question.host) && (question.flags & AI_NUMERICHOST) == 0) {
      add_named(to, asking, question.host);
    }
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
  return to.result();
}

int sim_name_of(sim_host& asking, const void* address, std::size_t bytes,
                name_texts& names) noexcept {
  if (asking.world().faults().strikes(sim_fault::lookup_failed, &asking)) return -(EAI_AGAIN);
  sa_family_t family = AF_UNSPEC;
  if (bytes >= sizeof(sockaddr_in)) family = static_cast<const sockaddr*>(address)->sa_family;
  sim_name name;
  if (family != AF_INET && family != AF_INET6) return -(EAI_FAMILY);
  if (parse_name(family, address, bytes, name) != 0) return -(EAI_FAMILY);
  std::snprintf(names.service, sizeof names.service, "%u", unsigned{name.port});
  for (const service& s : services) {
    if (s.port == name.port)
      std::snprintf(names.service, sizeof names.service, "%.*s", static_cast<int>(s.name.size()),
                    s.name.data());
  }
  if (is_loopback(name.address)) {
    std::snprintf(names.host, sizeof names.host, "localhost");
    return 0;
  }
  for (const sim_host& h : asking.world().hosts()) {
    if (name.address != h.address_v4() && name.address != h.address_v6()) continue;
    std::snprintf(names.host, sizeof names.host, "%s", h.name().c_str());
    return 0;
  }
  const bool v4 = is_v4(name.address);
  ::inet_ntop(v4 ? AF_INET : AF_INET6, name.address.data() + (v4 ? 12 : 0), names.host,
              sizeof names.host);
  return 0;
}

}  // namespace beck::detail
