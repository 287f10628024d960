// SPDX-License-Identifier: BSL-1.0
// Reads forms for form_differential.py: a line of the input has a Content-Type and a body, both in
// hexadecimal digits with a space between. For each it prints a line: "refused", or the parts, each
// as name:file:data in hexadecimal digits, with "-" for a part without a file name.
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>

#include "http/form_reader.hpp"
#include "http/message/characters.hpp"

namespace {

using namespace beck::http;

std::string from_hex(std::string_view digits) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < digits.size(); at += 2)
    bytes +=
        static_cast<char>(detail::hex_value(digits[at]) << 4 | detail::hex_value(digits[at + 1]));
  return bytes;
}

std::string to_hex(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    (text += digits[byte >> 4]) += digits[byte & 15];
  }
  return text;
}

std::string answer_to(std::string_view line) {
  const std::size_t space = line.find(' ');
  const std::string body = from_hex(line.substr(space + 1));
  std::string boundary;
  if (detail::read_boundary(from_hex(line.substr(0, space)), boundary) !=
      detail::form_refusal::none)
    return "refused";
  const test::read_form form = test::read_parts(boundary, {}, body, {body.size()});
  if (form.reason != detail::form_refusal::none) return "refused";
  std::string text = "form";
  for (const test::read_part& part : form.parts)
    text += ' ' + to_hex(part.head.name) + ':' +
            (part.head.is_file ? to_hex(part.head.file_name) : "-") + ':' + to_hex(part.data);
  return text;
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) std::cout << answer_to(line) << '\n';
}
