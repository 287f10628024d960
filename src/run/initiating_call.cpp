// SPDX-License-Identifier: BSL-1.0
// The innermost initiating function of each thread.
#include <beck/detail/initiating_call.hpp>

namespace beck::detail {

thread_local constinit initiating_call* initiating_call::innermost_
    [[gnu::tls_model("initial-exec")]] = nullptr;

}  // namespace beck::detail
