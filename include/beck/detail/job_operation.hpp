// SPDX-License-Identifier: BSL-1.0
// A blocking call as an operation, made by a thread of the context's blocking pool. For calls of
// the library that the kernel has no better form for, such as name lookups; programs have
// thread_pool.
#pragma once

#include <beck/detail/callback_operation.hpp>
#include <beck/io/io_context.hpp>

namespace beck::detail {

class system;

/// Completes with the result of its function: a value, or -errno. At most 4 jobs are performed at
/// once; the others wait in the order of their start. In a simulation there are no threads: a job
/// is performed at one point in time, after a drawn delay. Cancellation: a job that no thread has
/// begun to perform ends at once; another ends when its function returns, with the function's
/// result. Destruction of the context waits for it (30 s at most). Thread: any may start one.
class [[nodiscard]] job_operation : public operation {
 public:
  using signature = void(error_code, std::size_t);
  /// The function that makes the call; called once, on any thread. Its arguments are in the derived
  /// object, or are op.address and op.length.
  using function = std::ptrdiff_t (*)(system& sys, io_op& op) noexcept;

  job_operation(io_context& context, function what) noexcept;
  job_operation(io_context& context, function what, void* data, std::size_t bytes) noexcept;
  /// Moves a job that was not started.
  job_operation(job_operation&& other) noexcept
      : operation(static_cast<operation&&>(other)),
        function_(other.function_),
        detached_(other.detached_) {}

  bool await_ready() const noexcept { return false; }
  io_result<std::size_t> await_resume() const noexcept {
    return {error(), result < 0 ? 0 : static_cast<std::size_t>(result)};
  }
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<job_operation&&>(*this), static_cast<Token&&>(token));
  }

  /// Makes run() not wait for the end of the job. Called before it starts.
  void detach() noexcept { detached_ = true; }
  /// Returns whether run() does not wait for the end of the job.
  bool is_detached() const noexcept { return detached_; }
  /// Makes the call.
  std::ptrdiff_t perform(system& sys) noexcept { return function_(sys, *this); }

 private:
  function function_;
  bool detached_ = false;
};

}  // namespace beck::detail
