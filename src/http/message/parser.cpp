// SPDX-License-Identifier: BSL-1.0
// The public parsers: they check and apply the limits; head_parser does the rest.
#include <beck/http/parser.hpp>

#include <beck/base/assert.hpp>
#include <beck/io/buffer_lease.hpp>

#include "http/message/head_parser.hpp"

namespace beck::http {
namespace {

static_assert(request_parser::padding == buffer_lease::padding);
static_assert(request_parser::padding >= detail::line_marks::bytes);

constexpr std::uint32_t head_bytes_max = 65535;  // offsets have 16 bits

head_limits checked(const head_limits& limits) {
  BECK_ASSERT(limits.head_bytes <= head_bytes_max, "a head may have at most 65535 bytes");
  BECK_ASSERT(limits.fields <= head::fields_max, "a head may have at most 128 fields");
  return limits;
}

/// Parses at most as much of `input` as a head may have. A head that is not whole then is too long.
template <class Text, class Parse>
parse_status parse_within(std::string_view input, const head_limits& limits,
                          detail::head_progress& progress, Parse parse) noexcept {
  const bool is_all = input.size() < limits.head_bytes;
  const parse_status status = parse(Text(input.data(), is_all ? input.size() : limits.head_bytes));
  if (status != parse_status::more || is_all) return status;
  progress.reason = refusal::head_too_long;
  progress.offset = limits.head_bytes;
  return parse_status::refused;
}

}  // namespace

request_parser::request_parser(const head_limits& limits) : limits_(checked(limits)) {}

template <class Text>
parse_status request_parser::parse_text(std::string_view input, request_head& to) noexcept {
  if (progress_.line_at == 0 && !progress_.has_skipped) to.clear();
  return parse_within<Text>(input, limits_, progress_, [&](Text text) {
    return detail::head_parser(to, progress_, limits_).parse_request(text);
  });
}

parse_status request_parser::parse(std::string_view input, request_head& to) noexcept {
  return parse_text<detail::bare_text>(input, to);
}

parse_status request_parser::parse_padded(std::string_view input, request_head& to) noexcept {
  return beck::detail::has_wide_blocks() ? parse_text<detail::wide_text>(input, to)
                                         : parse_text<detail::padded_text>(input, to);
}

response_parser::response_parser(const head_limits& limits) : limits_(checked(limits)) {}

template <class Text>
parse_status response_parser::parse_text(std::string_view input, method asked,
                                         response_head& to) noexcept {
  if (!progress_.has_first_line) to.clear();
  return parse_within<Text>(input, limits_, progress_, [&](Text text) {
    return detail::head_parser(to, progress_, limits_).parse_response(text, asked);
  });
}

parse_status response_parser::parse(std::string_view input, method asked,
                                    response_head& to) noexcept {
  return parse_text<detail::bare_text>(input, asked, to);
}

parse_status response_parser::parse_padded(std::string_view input, method asked,
                                           response_head& to) noexcept {
  return beck::detail::has_wide_blocks() ? parse_text<detail::wide_text>(input, asked, to)
                                         : parse_text<detail::padded_text>(input, asked, to);
}

}  // namespace beck::http
