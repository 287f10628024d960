// SPDX-License-Identifier: BSL-1.0
//
// The text of an IPv4 address.
#include <beck/net/address_v4.hpp>
#include <net/address_parts.hpp>

namespace beck::ip {
using namespace detail;

bool read_dotted(text_reader& in, address_v4& a) noexcept {
  address_v4::uint_type number = 0;
  for (int i = 0; i < 4; ++i) {
    if (i != 0 && !in.take('.')) return false;
    const bool zero = in.starts_with('0');
    const std::size_t before = in.rest().size();
    std::uint32_t byte = 0;
    if (!in.take_number(10, 3, 255, byte)) return false;
    if (zero && before - in.rest().size() != 1) return false;  // a leading zero is octal to some
    number = number << 8 | byte;
  }
  a = address_v4(number);
  return in.at_end();
}

std::size_t address_v4::to_chars(char* out, std::size_t capacity) const noexcept {
  text_writer<text_max> text;
  write_dotted(text, *this);
  return text.copy_to(out, capacity);
}

address_text address_v4::to_string() const noexcept {
  text_writer<text_max> text;
  write_dotted(text, *this);
  return address_text(text_view(text.data(), text.size()));
}

address_v4 make_address_v4(text_view text, error_code& ec) noexcept {
  text_reader in(text);
  address_v4 a;
  if (read_dotted(in, a)) {
    ec.clear();
    return a;
  }
  ec = error::invalid_argument;
  return {};
}

address_v4 make_address_v4(text_view text) {
  error_code ec;
  const auto a = make_address_v4(text, ec);
  if (ec) throw_error(ec, "make_address_v4", text);
  return a;
}

}  // namespace beck::ip
