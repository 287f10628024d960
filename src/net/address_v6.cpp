// SPDX-License-Identifier: BSL-1.0
//
// The text of an IPv6 address: the parser of RFC 4291 2.2 and the canonical form of RFC 5952 4
// and 5.
#include <algorithm>
#include <beck/net/address.hpp>
#include <beck/net/address_v6.hpp>
#include "net/address_text.hpp"

namespace beck::ip {
using namespace detail;
namespace {

constexpr std::size_t groups_count = 8;

// Reads the part before "%". Groups are stored from the front; at the end, those behind "::" move
// to the back.
bool read_groups(text_reader& in, address_v6::bytes_type& bytes) noexcept {
  std::size_t count = 0;               // groups read
  std::size_t gap = groups_count + 1;  // groups read before "::"; this value: no "::" so far
  if (in.starts_with(':')) {
    if (!in.take(':') || !in.take(':')) return false;
    gap = 0;
  }
  bool more = !in.at_end();
  while (more) {
    if (count == groups_count) return false;
    text_reader dotted = in;
    address_v4 v4;
    if (count + 2 <= groups_count && read_dotted(dotted, v4)) {
      for (std::size_t i = 0; i < 4; ++i) bytes[2 * count + i] = v4.to_bytes()[i];
      count += 2;
      break;
    }
    std::uint32_t group = 0;
    if (!in.take_number(16, 4, 0xffff, group)) return false;
    bytes[2 * count] = static_cast<unsigned char>(group >> 8);
    bytes[2 * count + 1] = static_cast<unsigned char>(group & 0xff);
    ++count;
    if (in.at_end()) break;
    if (!in.take(':')) return false;
    if (in.take(':')) {
      if (gap <= groups_count) return false;
      gap = count;
      more = !in.at_end();
    }
  }
  if (gap > groups_count) return count == groups_count;
  if (count == groups_count) return false;  // "::" stands for at least one group
  const std::size_t behind = 2 * (count - gap);
  for (std::size_t i = 0; i < behind; ++i) {
    bytes[15 - i] = bytes[2 * count - 1 - i];
    bytes[2 * count - 1 - i] = 0;
  }
  return true;
}

// Finds the longest run of at least two zero groups; the first if several are equal (RFC 5952 4.2).
void find_longest_zeros(const std::uint32_t (&groups)[groups_count], std::size_t& begin,
                        std::size_t& end) noexcept {
  begin = end = groups_count;
  std::size_t longest = 1;
  for (std::size_t i = 0; i < groups_count; ++i) {
    std::size_t stop = i;
    while (stop < groups_count && groups[stop] == 0) ++stop;
    if (stop - i > longest) {
      longest = stop - i;
      begin = i;
      end = stop;
    }
    if (stop > i) i = stop;  // groups[stop] is not zero
  }
}

void write_groups(text_writer<address_v6::text_max>& out, const address_v6& a) noexcept {
  const auto bytes = a.to_bytes();
  if (a.is_v4_mapped()) {
    for (const char c : std::string_view("::ffff:")) out.put(c);
    write_dotted(out, make_address_v4(v4_mapped, a));
    return;
  }
  std::uint32_t groups[groups_count];
  for (std::size_t i = 0; i < groups_count; ++i) {
    groups[i] = std::uint32_t{bytes[2 * i]} << 8 | bytes[2 * i + 1];
  }
  std::size_t gap_begin = 0, gap_end = 0;
  find_longest_zeros(groups, gap_begin, gap_end);
  for (std::size_t i = 0; i < groups_count; ++i) {
    if (i == gap_begin) {
      out.put(':');
      out.put(':');
      i = gap_end;
      if (i == groups_count) break;
    } else if (i != 0) {
      out.put(':');
    }
    out.put_number(groups[i], 16);
  }
}

text_writer<address_v6::text_max> write(const address_v6& a) noexcept {
  text_writer<address_v6::text_max> out;
  write_groups(out, a);
  if (a.scope_id() != 0) {
    out.put('%');
    out.put_number(a.scope_id(), 10);
  }
  return out;
}

bool read(std::string_view text, address_v6& a) noexcept {
  const std::size_t percent = std::min(text.find('%'), text.size());
  text_reader in(text.substr(0, percent));
  address_v6::bytes_type bytes;
  if (!read_groups(in, bytes)) return false;
  std::uint32_t scope_id = 0;
  if (percent != text.size()) {
    text_reader scope(text.substr(percent + 1));
    if (!scope.take_number(10, 10, 0xffffffff, scope_id) || !scope.at_end()) return false;
  }
  a = address_v6(bytes, scope_id);
  return true;
}

}  // namespace

std::size_t address_v6::to_chars(char* out, std::size_t capacity) const noexcept {
  return write(*this).copy_to(out, capacity);
}

address_text address_v6::to_text() const noexcept {
  const auto text = write(*this);
  return address_text(std::string_view(text.data(), text.size()));
}

address_v6 make_address_v6(std::string_view text, error_code& ec) noexcept {
  address_v6 a;
  if (read(text, a)) {
    ec.clear();
  } else {
    ec = error::invalid_argument;
  }
  return a;
}

address_v6 make_address_v6(std::string_view text) {
  error_code ec;
  const auto a = make_address_v6(text, ec);
  if (ec) throw_error(ec, "make_address_v6", text);
  return a;
}

address_v4 make_address_v4(v4_mapped_t, const address_v6& a) {
  if (!a.is_v4_mapped()) throw bad_address_cast();
  const auto bytes = a.to_bytes();
  return address_v4(address_v4::bytes_type(bytes[12], bytes[13], bytes[14], bytes[15]));
}

}  // namespace beck::ip
