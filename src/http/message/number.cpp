// SPDX-License-Identifier: BSL-1.0
// Numbers in texts, by std::from_chars: it knows neither "+" nor spaces nor locales.
#include <beck/http/number.hpp>

#include <charconv>
#include <cmath>

#include <beck/http/failure.hpp>

namespace beck::http::detail {
namespace {

template <class T>
bool read_whole(std::string_view text, T& to) noexcept {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [at, error] = std::from_chars(begin, end, to);
  return error == std::errc() && at == end;
}

}  // namespace

bool number_text::read(std::string_view text, long long& to) noexcept {
  return read_whole(text, to);
}

bool number_text::read(std::string_view text, unsigned long long& to) noexcept {
  return read_whole(text, to);
}

bool number_text::read(std::string_view text, double& to) noexcept {
  return read_whole(text, to) && std::isfinite(to);
}

void refuse_part() { throw failure(404); }

}  // namespace beck::http::detail
