// SPDX-License-Identifier: BSL-1.0
// Connections are counted by the address bits that their owner cannot choose: all 32 of IPv4, 64 of
// IPv6. The fields of proxies are read from the right, element by element, as long as a trusted
// proxy wrote the element. So a client cannot change how the elements of its proxy are read.
#include "http/server/peer_addresses.hpp"

#include <charconv>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <beck/base/assert.hpp>

#include "http/message/characters.hpp"

namespace beck::http::detail {
namespace {

/// Removes the part after the last `separator` from `list`, or all of it, and returns it.
std::string_view take_last(std::string_view& list, char separator) noexcept {
  const std::size_t at = list.rfind(separator);
  const std::string_view last = at == std::string_view::npos ? list : list.substr(at + 1);
  list = at == std::string_view::npos ? std::string_view() : list.substr(0, at);
  return last;
}

/// Reads a number without a sign or other characters.
bool read_number(std::string_view text, unsigned most, unsigned& number) noexcept {
  const char* const end = text.data() + text.size();
  const char* const begin = text.data();
  const auto read = std::from_chars(begin, end, number);
  return read.ec == std::errc() && read.ptr == end && number <= most;
}

bool read_address(std::string_view text, ip::address& to) noexcept {
  error_code ec;
  if (text.find('%') == std::string_view::npos) {
    to = unmapped(ip::make_address(text, ec));
    return !ec;
  }
  return false;  // a zone has a meaning on one machine only
}

/// Reads "1.2.3.4", "1.2.3.4:80", "[::1]", "[::1]:80"; also "::1" if `bare`.
bool read_node(std::string_view text, bool bare, ip::address& to) noexcept {
  std::string_view port;
  bool has_port = false;
  const bool bracketed = !text.empty() && text.front() == '[';
  const std::size_t host = bracketed ? text.find(']') : text.find(':');
  if (bracketed) {
    if (host == std::string_view::npos) return false;
    port = text.substr(host + 1);
    text = text.substr(1, host - 1);
    has_port = !port.empty();
    if (has_port && port.front() != ':') return false;
    if (has_port) port.remove_prefix(1);
  } else if (host != std::string_view::npos && text.find(':', host + 1) == std::string_view::npos) {
    port = text.substr(host + 1);
    text = text.substr(0, host);
    has_port = true;
  }
  unsigned number = 0;
  if (has_port && !read_number(port, 65'535, number)) return false;
  const bool has_colon = text.find(':') != std::string_view::npos;
  return (bracketed ? has_colon : bare || !has_colon) && read_address(text, to);
}

/// Reads an element of Forwarded: pairs of a token and a value, one of which is "for".
bool read_element(std::string_view text, ip::address& to) noexcept {
  bool found = false;
  while (!text.empty()) {
    const std::string_view pair = trimmed(take_last(text, ';'));
    if (pair.empty()) continue;  // RFC 7239, 4: a pair may be empty
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || !is_token(pair.substr(0, equals))) return false;
    std::string_view value = pair.substr(equals + 1);
    const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
    if (quoted) value = value.substr(1, value.size() - 2);
    if (quoted ? value.find_first_of("\"\\") != std::string_view::npos : !is_token(value))
      return false;
    if (!equal_in_any_case(pair.substr(0, equals), "for")) continue;
    if (found || !read_node(value, false, to)) return false;
    found = true;
  }
  return found;
}

/// Writes the bytes of an address; zeros follow those of IPv4.
void write_bytes(const ip::address& a, unsigned char (&to)[16]) noexcept {
  if (a.is_v6()) {
    const auto bytes = a.to_v6().to_bytes();
    for (unsigned i = 0; i < 16; ++i) to[i] = bytes[i];
  } else {
    const std::uint32_t bytes = a.to_v4().to_uint();
    for (unsigned i = 0; i < 16; ++i) {
      to[i] = i < 4 ? static_cast<unsigned char>(bytes >> (24 - 8 * i)) : 0;
    }
  }
}

bool is_equal(const ip::address& a, const ip::address& b, unsigned bits) noexcept {
  if (a.is_v6() != b.is_v6()) return false;
  unsigned char x[16], y[16];
  write_bytes(a, x);
  write_bytes(b, y);
  for (unsigned i = 0; i < bits; ++i) {
    if (((x[i / 8] ^ y[i / 8]) >> (7 - i % 8) & 1) != 0) return false;
  }
  return true;
}

}  // namespace

ip::address unmapped(const ip::address& a) noexcept {
  if (!a.is_v6() || !a.to_v6().is_v4_mapped()) return a;
  return ip::make_address_v4(ip::v4_mapped, a.to_v6());
}

address_count::network address_count::network_of(const ip::address& a) noexcept {
  network of{0, a.is_v6()};
  if (a.is_v6()) {
    const auto bytes = a.to_v6().to_bytes();
    for (std::size_t i = 0; i < 8; ++i) of.bits = of.bits << 8 | bytes[i];
  } else {
    of.bits = a.to_v4().to_uint();
  }
  return of;
}

bool address_count::add(const ip::address& from, std::size_t most) noexcept {
  try {
    std::size_t& count = counts_[network_of(from)];
    if (count >= most) return false;
    ++count;
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void address_count::remove(const ip::address& from) noexcept {
  const auto found = counts_.find(network_of(from));
  BECK_ASSERT(found != counts_.end(), "a connection was counted for another address");
  if (--found->second == 0) counts_.erase(found);
}

proxy_list::network proxy_list::read(std::string_view text) {
  const std::size_t slash = text.find('/');
  network made{};
  const bool is_address = read_address(text.substr(0, slash), made.base);
  const unsigned all = made.base.is_v6() ? 128 : 32;
  made.bits = all;
  if (!is_address ||
      (slash != std::string_view::npos && !read_number(text.substr(slash + 1), all, made.bits)))
    throw std::invalid_argument(
        "http: behind_proxy() takes addresses, networks and \"unix\", not \"" + std::string(text) +
        '"');
  return made;
}

void proxy_list::add(std::string_view text) {
  std::vector<network> made = networks_;
  bool local = local_;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(", ");
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (one == "unix") {
      local = true;
    } else if (!one.empty()) {
      made.push_back(read(one));
    }
  }
  networks_ = std::move(made);
  local_ = local;
}

bool proxy_list::has(const ip::address& a) const noexcept {
  for (const network& one : networks_) {
    if (is_equal(one.base, a, one.bits)) return true;
  }
  return false;
}

ip::address client_address(const request_head& head, field how, const proxy_list& proxies,
                           const ip::address& peer, bool is_local) noexcept {
  ip::address found = peer;
  bool believed = is_local ? proxies.has_local() : proxies.has(peer);
  for (unsigned i = head.size(); believed && i-- > 0;) {
    if (head[i].id != how) continue;
    std::string_view left = head[i].value;
    while (believed && !left.empty()) {
      const std::string_view element = trimmed(take_last(left, ','));
      if (element.empty()) continue;  // RFC 9110, 5.6.1: a list may have empty elements
      ip::address one;
      const bool read =
          how == field::forwarded ? read_element(element, one) : read_node(element, true, one);
      if (!read) return found;
      found = one;
      believed = proxies.has(found);
    }
  }
  return found;
}

}  // namespace beck::http::detail
