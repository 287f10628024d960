// SPDX-License-Identifier: BSL-1.0
// Parses the weights in Accept-Encoding.
#include <beck/http/content_coding.hpp>

#include <iterator>

#include "http/message/characters.hpp"

namespace beck::http {
namespace {

constexpr std::string_view coding_names[] = {"identity", "gzip", "br", "zstd"};
constexpr unsigned coding_count = std::size(coding_names);

constexpr unsigned unlisted = accepted_codings::weight_max + 1;

/// Reads "0.123" in thousandths. Returns `unlisted` if it is malformed.
unsigned read_weight(std::string_view text) noexcept {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return unlisted;
  unsigned weight = text[0] == '1' ? 1000 : 0;
  if (text.size() > 1 && text[1] != '.') return unlisted;
  unsigned unit = 100;
  for (std::size_t i = 2; i < text.size(); ++i, unit /= 10) {
    if (!detail::is_in(text[i], detail::is_digit)) return unlisted;
    weight += static_cast<unsigned>(text[i] - '0') * unit;
  }
  return weight <= accepted_codings::weight_max ? weight : unlisted;
}

/// The weights as the field lists them.
struct coding_list {
  unsigned weights[coding_count] = {unlisted, unlisted, unlisted, unlisted};
  unsigned others = unlisted;  // of "*"
  bool is_malformed = false;

  void read(std::string_view value) noexcept {
    while (!value.empty()) {
      const std::string_view element = detail::take_element(value);
      if (!element.empty() && !read_element(element)) is_malformed = true;
    }
  }

  bool read_element(std::string_view element) noexcept {
    const std::size_t semicolon = element.find(';');
    const std::string_view name = detail::trimmed(element.substr(0, semicolon));
    if (!detail::is_token(name)) return false;
    unsigned weight = accepted_codings::weight_max;
    if (semicolon != std::string_view::npos) {
      const std::string_view parameter = detail::trimmed(element.substr(semicolon + 1));
      if (!detail::equal_in_any_case(parameter.substr(0, 2), "q=")) return false;
      weight = read_weight(parameter.substr(2));
      if (weight == unlisted) return false;
    }
    unsigned* const known = name == "*" ? &others : find(name);
    if (known != nullptr && weight < *known) *known = weight;
    return true;
  }

  unsigned* find(std::string_view name) noexcept {
    if (detail::equal_in_any_case(name, "x-gzip")) name = "gzip";
    for (unsigned i = 0; i < coding_count; ++i)
      if (detail::equal_in_any_case(name, coding_names[i])) return &weights[i];
    return nullptr;
  }

  void settle(std::uint16_t (&to)[coding_count]) const noexcept {
    for (unsigned i = 0; i < coding_count; ++i) {
      const unsigned by_default = i == 0 ? 1 : 0;
      const unsigned weight = weights[i] != unlisted ? weights[i]
                              : others != unlisted   ? others
                                                     : by_default;
      to[i] = static_cast<std::uint16_t>(is_malformed ? by_default : weight);
    }
  }
};

}  // namespace

std::string_view functions::name_of(content_coding c) noexcept {
  return coding_names[static_cast<unsigned>(c)];
}

accepted_codings::accepted_codings(const request_head& head) noexcept {
  coding_list list;
  if (head.has(field::accept_encoding))
    for (const field_view each : head)
      if (each.id == field::accept_encoding) list.read(each.value);
  list.settle(weights_);
}

accepted_codings::accepted_codings(std::string_view value) noexcept {
  coding_list list;
  list.read(value);
  list.settle(weights_);
}

content_coding accepted_codings::pick(const content_coding* available,
                                      std::size_t count) const noexcept {
  content_coding best = content_coding::identity;
  bool is_default = true;  // nothing of `available` yet: such a coding wins with an equal weight
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned weight = weight_of(available[i]);
    if (weight == 0 || weight < weight_of(best) || (weight == weight_of(best) && !is_default))
      continue;
    best = available[i];
    is_default = false;
  }
  return best;
}

}  // namespace beck::http
