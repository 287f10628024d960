// SPDX-License-Identifier: BSL-1.0
//
// The dotted form, which stands alone and at the end of an IPv6 address.
#pragma once

#include <beck/net/address_v4.hpp>
#include <net/text_reader.hpp>
#include <net/text_writer.hpp>

namespace beck::ip {
using namespace detail;

/// Reads "a.b.c.d" and nothing behind it.
bool read_dotted(text_reader& in, address_v4& a) noexcept;

template <std::size_t Capacity>
void write_dotted(text_writer<Capacity>& out, const address_v4& a) noexcept {
  const auto bytes = a.to_bytes();
  for (std::size_t i = 0; i < 4; ++i) {
    if (i != 0) out.put('.');
    out.put_number(bytes[i], 10);
  }
}

}  // namespace beck::ip
