// SPDX-License-Identifier: BSL-1.0
// Dates: every point in time is read back from its text, and what is accepted means what it says.
// Eight bytes are a point in time, and the one at which the rest is read.
#include <beck/http/date.hpp>

#include <cstring>

#include "fuzz/http/fuzz.hpp"

namespace {

using namespace beck::http;
using namespace beck::http::fuzz;

constexpr std::int64_t first_second = -62'135'596'800;  // of the year 1
constexpr std::int64_t last_second = 253'402'300'799;   // of the year 9999

void require_readable(std::int64_t seconds) {
  const std::int64_t wanted = std::clamp(seconds, first_second, last_second);
  const exact_copy text(date_text(seconds).view());
  std::int64_t again = 0;
  require(parse_date(text.view(), 0, again) && again == wanted, "a written date is another one");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::int64_t now = 0;
  if (size < sizeof now) return 0;
  std::memcpy(&now, data, sizeof now);
  require_readable(now);
  const exact_copy text(beck::http::fuzz::text_of(data + sizeof now, size - sizeof now));
  constexpr std::int64_t untouched = 7;
  // The clock of a server: whatever it says, it is within the years that a date can name.
  now = std::clamp(now, first_second, last_second);
  std::int64_t seconds = untouched;
  if (!parse_date(text.view(), now, seconds)) {
    require(seconds == untouched, "a refused date is set");
    return 0;
  }
  require(seconds >= first_second && seconds <= last_second + 1, "a year that no date has");
  require_readable(seconds);
  return 0;
}
