// SPDX-License-Identifier: BSL-1.0
//
// The headers that any asynchronous library must include. The figures of the other files are their
// cost above this file.
#include <coroutine>
#include <system_error>

int main() { return std::error_code().value() + (std::coroutine_handle<>() ? 1 : 0); }
