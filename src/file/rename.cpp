// SPDX-License-Identifier: BSL-1.0
// The names of files: calls that no kernel makes without waiting for the directory.
#include <beck/file/rename.hpp>

#include <cerrno>
#include <cstring>

#include "io/loop/io_loop.hpp"
#include "io/loop/loop_access.hpp"

namespace beck {
namespace detail {
namespace {

constexpr std::size_t path_bytes_max = 4095;  // PATH_MAX less its NUL

bool has_nul(std::string_view path) noexcept {
  return !path.empty() && std::memchr(path.data(), 0, path.size()) != nullptr;
}

/// Returns the loop of an executor, which may be a strand; nullptr if it has none.
io_loop* loop_behind(const any_io_executor& executor) noexcept {
  try {
    return &loop_of(executor);
  } catch (...) {
    return nullptr;
  }
}

}  // namespace

name_change::name_change(io_context& context, std::string_view from, std::string_view to)
    : job_operation(context, has_nul(from) || has_nul(to) ? &refuse : &perform_rename),
      second_(from.size() + 1) {
  paths_.reserve(from.size() + to.size() + 1);
  paths_.append(from).append(1, '\0').append(to);
}

name_change::name_change(io_context& context, std::string_view path)
    : job_operation(context, has_nul(path) ? &refuse : &perform_remove), paths_(path) {}

std::ptrdiff_t name_change::perform_rename(system& sys, io_op& op) noexcept {
  const auto& self = static_cast<name_change&>(static_cast<job_operation&>(op));
  return sys.rename_file(self.paths_.c_str(), self.paths_.c_str() + self.second_);
}

std::ptrdiff_t name_change::perform_remove(system& sys, io_op& op) noexcept {
  const auto& self = static_cast<name_change&>(static_cast<job_operation&>(op));
  return sys.remove_file(self.paths_.c_str());
}

std::ptrdiff_t name_change::refuse(system&, io_op&) noexcept { return -EINVAL; }

}  // namespace detail

namespace functions {

detail::name_change async_rename_file(const any_io_executor& executor, std::string_view from,
                                      std::string_view to) {
  return {detail::loop_of(executor).context(), from, to};
}

detail::name_change async_remove_file(const any_io_executor& executor, std::string_view path) {
  return {detail::loop_of(executor).context(), path};
}

error_code remove_file(const any_io_executor& executor, std::string_view path,
                       error_code& ec) noexcept {
  detail::io_loop* const loop = detail::loop_behind(executor);
  char text[detail::path_bytes_max + 1];
  int result = -EINVAL;
  if (path.size() > detail::path_bytes_max) {
    result = -ENAMETOOLONG;
  } else if (loop != nullptr && !detail::has_nul(path)) {
    if (!path.empty()) std::memcpy(text, path.data(), path.size());
    text[path.size()] = 0;
    result = loop->sys().remove_file(text);
  }
  ec = detail::make_error(result);
  return ec;
}

}  // namespace functions
}  // namespace beck
