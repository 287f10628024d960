// SPDX-License-Identifier: BSL-1.0
// sync_wait of a sender: runs the context until the sender has completed.
#pragma once

#include <beck/interop/execution/await_sender.hpp>
#include <beck/io/sync_wait.hpp>

namespace beck::execution {
inline namespace BECK_EXECUTION_VOCABULARY {
namespace functions {

/// Starts `sender` inside `context`, runs the context until it has completed, and returns what a
/// task that awaits it would get: io_result or the value. The standard's sync_wait needs another
/// thread that runs the context. Everything else as beck::sync_wait(context, task).
template <detail::any_sender Sender>
auto sync_wait(io_context& context, Sender sender) {
  using result = decltype(execution::from_sender(std::declval<Sender>()).await_resume());
  return beck::sync_wait(context, [](Sender started) -> task<result> {
    auto operation = execution::from_sender(static_cast<Sender&&>(started));
    co_return co_await static_cast<decltype(operation)&&>(operation);
  }(static_cast<Sender&&>(sender)));
}

}  // namespace functions
using namespace functions;
}  // namespace BECK_EXECUTION_VOCABULARY
}  // namespace beck::execution
