// SPDX-License-Identifier: BSL-1.0
// The environment of the process, which a program with the rights of another user does not trust.
#include <cstdlib>

#include "http/client/proxy_rules.hpp"

namespace beck::http::detail {

const char* environment_text(const char* name) noexcept { return ::secure_getenv(name); }

}  // namespace beck::http::detail
