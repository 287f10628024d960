// SPDX-License-Identifier: BSL-1.0
// Which identity answers to a name, and the name in a ClientHello, whole, cut and forged.
#include "tls/identity.hpp"

#include <doctest/doctest.h>

#include <string>

using beck::tls::detail::name_table;
using beck::tls::detail::server_name_in;

namespace {

/// Returns the extension with one name.
std::string extension_of(std::string_view name) {
  const auto two = [](std::size_t n) {
    return std::string{static_cast<char>(n >> 8), static_cast<char>(n & 0xff)};
  };
  return two(name.size() + 3) + std::string(1, '\0') + two(name.size()) + std::string(name);
}

std::string_view read(const std::string& bytes) {
  return server_name_in(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

}  // namespace

TEST_CASE("tls names: exact names come before wildcards, which stand for one label") {
  name_table table;
  table.add("*.example.com", 1);
  table.add("a.example.com", 2);
  table.add("Other.Example", 3);
  CHECK(table.find("a.example.com") == 2);
  CHECK(table.find("A.EXAMPLE.COM.") == 2);
  CHECK(table.find("b.example.com") == 1);
  CHECK(table.find("other.example") == 3);
  for (const char* name : {"example.com", "x.a.example.com", ".example.com", "com", "", ".", "*"})
    CHECK(table.find(name) == name_table::none);
  table.add("a.example.com", 4);
  CHECK(table.find("a.example.com") == 4);
}

TEST_CASE("tls names: a name is found in its extension, and in nothing else") {
  const std::string good = extension_of("a.example");
  CHECK(read(good) == "a.example");
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes)
    CHECK(read(good.substr(0, bytes)).empty());
  CHECK(read(good + "x").empty());
  std::string other_kind = good;
  other_kind[2] = 1;
  CHECK(read(other_kind).empty());
  CHECK(read(extension_of("")).empty());
  CHECK(read(extension_of(std::string(255, 'a'))).size() == 255);
  CHECK(read(extension_of(std::string(256, 'a'))).empty());
  CHECK(read(extension_of(std::string_view("a\0b", 3))).empty());
  for (unsigned at = 0; at < 5; ++at) {  // lengths that lie
    std::string forged = good;
    forged[at] = '\xff';
    CHECK(read(forged).empty());
  }
}
