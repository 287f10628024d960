// SPDX-License-Identifier: BSL-1.0
// Oracles for heads, of requests and responses alike.
#pragma once

#include <string>
#include <string_view>

#include <beck/http/head_writer.hpp>
#include <beck/http/parser.hpp>

#include "fuzz/http/fuzz.hpp"
#include "http/message_reader.hpp"

namespace beck::http::fuzz {

/// Whole, padded, split and byte by byte the input must be read as the same messages.
template <class Reader>
void require_one_reading(std::string_view input) {
  constexpr std::size_t bytewise_max = 512;
  const std::string whole = test::read_all<Reader>(input).transcript();
  require_equal(whole, test::read_all<Reader>(input, true).transcript(), "padding matters");
  at_splits(input, [&](std::size_t at) {
    require_equal(whole, test::read_split<Reader>(input, at).transcript(), "a split matters");
    require_equal(whole, test::read_split<Reader>(input, at, true).transcript(),
                  "a split of padded input matters");
  });
  if (input.size() <= bytewise_max)
    require_equal(whole, test::read_bytes<Reader>(input).transcript(), "bytes one by one matter");
}

/// What a head refers to lies within its text, and in order.
inline void require_inside(const exact_copy& text, const head& h) {
  require(h.bytes() <= text.view().size(), "the head is longer than the input");
  require(h.size() <= head::fields_max, "too many fields");
  const char* before = text.view().data();
  for (const field_view each : h) {
    require(!each.name.empty() && text.holds(each.name) && each.name.data() > before,
            "a name is outside");
    require(each.value.data() > each.name.data() + each.name.size() && text.holds(each.value),
            "a value is outside");
    require(to_field(each.name) == each.id, "a name has two meanings");
    before = each.value.data() + each.value.size();
  }
}

/// Adds all fields of a head.
inline void copy_fields(head_writer& to, const head& from) {
  for (const field_view each : from) to.add(each.name, each.value);
}

/// Two heads say the same.
inline void require_same(const head& a, const head& b) {
  require(a.size() == b.size(), "another number of fields");
  for (unsigned i = 0; i < a.size(); ++i) {
    require_equal(a[i].name, b[i].name, "another name");
    require_equal(a[i].value, b[i].value, "another value");
    require(a[i].id == b[i].id, "another field");
  }
  require(a.framing() == b.framing() && a.content_length() == b.content_length(),
          "another framing");
  require(a.keeps_alive() == b.keeps_alive(), "another persistence");
}

}  // namespace beck::http::fuzz
