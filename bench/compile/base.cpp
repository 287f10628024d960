// SPDX-License-Identifier: BSL-1.0
//
// What any asynchronous library must include; the other files are measured above this one.
#include <coroutine>
#include <system_error>

int main() { return std::error_code().value() + (std::coroutine_handle<>() ? 1 : 0); }
