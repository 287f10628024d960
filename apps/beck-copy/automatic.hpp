// SPDX-License-Identifier: BSL-1.0
//
// What --engine auto tries, in which order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "settings.hpp"
#include "source.hpp"
#include "target.hpp"

namespace beck_copy {

/// The engines for these two, the best one first; the last one is never refused.
std::vector<std::string_view> candidates(const settings& asked, const source& from,
                                         const target& to);

/// A reflink is possible: all of a file to a new file.
bool may_share(const settings& asked, const source& from, const target& to);

/// Shares the source's blocks with the target, ioctl_ficlone(2). Gives "" or why that is refused.
std::string share(const source& from, const target& to);

/// The target's blocks are shared: the file system made copy_file_range a reflink. ioctl_fiemap.
bool is_shared(const target& to);

}  // namespace beck_copy
