// SPDX-License-Identifier: BSL-1.0
// A user's program with something from beck::tls; exits with 0 if that works.
#include <beck/tls/error.hpp>

int main() {
  const auto error = make_error_code(beck::tls::error::truncated);
  return error && !error.message().empty() ? 0 : 1;
}
