// SPDX-License-Identifier: BSL-1.0
// Code that files and directories share: the flags of open(2), and both forms of opening.
#pragma once

#include <beck/detail/file_operation.hpp>
#include <beck/file/file_object.hpp>
#include <string_view>

#include "io/op/descriptor.hpp"

namespace beck::detail {

/// Returns the O_ flags, with O_CLOEXEC.
unsigned open_flags_of(file_object::flags how) noexcept;

/// Opens `path` in `d`, on the calling thread. `flags` are O_ values. Returns 0 or the error.
int open_path(descriptor& d, std::string_view path, unsigned flags) noexcept;

/// Returns an operation that opens `path` in `d`. `flags` are O_ values.
file_action open_action(descriptor& d, const char* path, unsigned flags) noexcept;

}  // namespace beck::detail
