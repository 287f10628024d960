// SPDX-License-Identifier: BSL-1.0
// Renames and removes files without blocking. For programs that write a file under a temporary name
// and rename it when it is complete.
#pragma once

#include <beck/detail/functions.hpp>
#include <beck/detail/job_operation.hpp>
#include <string>  // lint: allow heavy-header, error.hpp has it already
#include <string_view>

namespace beck {

class any_io_executor;

namespace detail {

/// The operation of async_rename_file() and async_remove_file(). It owns the paths.
class [[nodiscard]] name_change : public job_operation {
 public:
  using signature = void(error_code);

  /// Renames a file.
  name_change(io_context& context, std::string_view from, std::string_view to);
  /// Removes the name of a file.
  name_change(io_context& context, std::string_view path);
  name_change(name_change&& other) noexcept
      : job_operation(static_cast<job_operation&&>(other)),
        paths_(static_cast<std::string&&>(other.paths_)),
        second_(other.second_) {}

  io_result<> await_resume() const noexcept { return io_result<>(error()); }
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<name_change&&>(*this), static_cast<Token&&>(token));
  }

 private:
  static std::ptrdiff_t perform_rename(system& sys, io_op& op) noexcept;
  static std::ptrdiff_t perform_remove(system& sys, io_op& op) noexcept;
  static std::ptrdiff_t refuse(system& sys, io_op& op) noexcept;

  std::string paths_;       // with a NUL between them
  std::size_t second_ = 0;  // where the second one begins
};

}  // namespace detail

namespace functions {

/// Renames the file `from` to `to`. A file that has that name is replaced atomically: every process
/// sees the old file or the new one. Both names must be in one file system. Completes with
/// (error_code). Errors: those of rename(2); invalid_argument for a path with a NUL in it.
/// Not guaranteed: that the change is on the device. Throws std::bad_alloc; io_error
/// (invalid_argument) unless the context of `executor` is an io_context. A thread of that context
/// makes the call; a handler without an executor of its own runs on the context.
/// Cancellation: ends with operation_aborted if the call was not begun; else with its result.
/// Simulation: the disk of the host.
detail::name_change async_rename_file(const any_io_executor& executor, std::string_view from,
                                      std::string_view to);
/// As above. `token` takes (error_code).
template <class Token>
auto async_rename_file(const any_io_executor& executor, std::string_view from, std::string_view to,
                       Token&& token) {
  return detail::launch(async_rename_file(executor, from, to), static_cast<Token&&>(token));
}

/// Removes the name of a file; its contents go with its last name, and when no process has it open
/// any more. Completes with (error_code). Errors: those of unlink(2); else as async_rename_file().
detail::name_change async_remove_file(const any_io_executor& executor, std::string_view path);
/// As above. `token` takes (error_code).
template <class Token>
auto async_remove_file(const any_io_executor& executor, std::string_view path, Token&& token) {
  return detail::launch(async_remove_file(executor, path), static_cast<Token&&>(token));
}

/// Removes the name of a file in this call, which waits for the file system: for ends that cannot
/// await. Errors: as async_remove_file(); name_too_long above 4,095 bytes.
error_code remove_file(const any_io_executor& executor, std::string_view path,
                       error_code& ec) noexcept;

}  // namespace functions
using namespace beck::functions;

}  // namespace beck
