// SPDX-License-Identifier: BSL-1.0
// The end of a call whose reply is a number, for cases that start calls and look at them later.
#pragma once

#include <beck/base/error.hpp>
#include <beck/redis/value.hpp>

#include <string>
#include <utility>

#include "redis/names.hpp"

namespace beck::redis::test {

struct ending {
  error_code ec;
  std::string text;
  outcome what = outcome::not_sent;
  long value = -1;
  bool is_over = false;
};

/// Starts a call.
template <class Call>
void begin(Call&& call, ending& to) {
  std::forward<Call>(call)([&to](error_code ec, const redis::reply<long>& r) {
    to.ec = ec;
    to.text = r.error_text();
    to.what = r.outcome();
    if (r) to.value = *r;
    to.is_over = true;
  });
}

}  // namespace beck::redis::test
