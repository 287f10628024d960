// SPDX-License-Identifier: BSL-1.0
// Strings that are numbers: INCR, DECR and INCRBYFLOAT.
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "redis/memory/memory_call.hpp"
#include "redis/protocol/number_text.hpp"

namespace beck::redis::detail {
namespace {

/// Changes a string without changing when it ends.
void replace(memory_call& call, std::string* present, const std::string& text) {
  if (present == nullptr) {
    call.store().put(call.peer.database, call[1], text);
  } else {
    *present = text;
    call.changed(call[1]);
  }
}

void add(memory_call& call, std::int64_t by) {
  std::string* present = nullptr;
  if (!call.find_as(call[1], present)) return;
  std::int64_t number = 0;
  if (present != nullptr && read_integer(*present, number).is_bad) return call.not_an_integer();
  if (__builtin_add_overflow(number, by, &number))
    return call.error("ERR increment or decrement would overflow");
  replace(call, present, std::to_string(number));
  call.reply.integer(number);
}

void run_incr(memory_call& call) { add(call, 1); }
void run_decr(memory_call& call) { add(call, -1); }

void run_incrby(memory_call& call) {
  std::int64_t by = 0;
  if (call.integer(2, by)) add(call, by);
}

void run_decrby(memory_call& call) {
  std::int64_t by = 0;
  if (!call.integer(2, by)) return;
  if (by == std::numeric_limits<std::int64_t>::min())
    return call.error("ERR decrement would overflow");
  add(call, -by);
}

/// Returns a number with at most seventeen digits behind the point, and no zeros at its end.
std::string human_text(long double number) {
  constexpr std::size_t digits_max = 5 * 1024;
  std::string text(digits_max, '\0');
  const int bytes = std::snprintf(text.data(), text.size(), "%.17Lf", number);
  BECK_ASSERT(bytes > 0 && static_cast<std::size_t>(bytes) < digits_max,
              "a number has more digits than there is room for");
  text.resize(static_cast<std::size_t>(bytes));
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

void run_incrbyfloat(memory_call& call) {
  std::string* present = nullptr;
  if (!call.find_as(call[1], present)) return;
  long double number = 0;
  long double by = 0;
  if ((present != nullptr && !read_memory_long_real(*present, number)) ||
      !read_memory_long_real(call[2], by))
    return call.error("ERR value is not a valid float");
  number += by;
  if (std::isnan(number) || std::isinf(number))
    return call.error("ERR increment would produce NaN or Infinity");
  const std::string text = human_text(number);
  replace(call, present, text);
  call.reply.bulk(text);
}

constexpr memory_row number_rows[] = {
    {"incr", run_incr},
    {"decr", run_decr},
    {"incrby", run_incrby},
    {"decrby", run_decrby},
    {"incrbyfloat", run_incrbyfloat},
};

}  // namespace

memory_rows memory_number_rows() noexcept { return number_rows; }

}  // namespace beck::redis::detail
