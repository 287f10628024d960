// SPDX-License-Identifier: BSL-1.0
// Does not compile: a function with parameters cannot be posted.
// lines: 20
// says: the last argument must be a completion token, or a handler
// says: void ?\(\)
#include <beck/io/io_context.hpp>

void queue(beck::io_context& context) {
  beck::post(context, [](int) {});
}
