// SPDX-License-Identifier: BSL-1.0
//
// The engines that --engine auto tries, and their order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "settings.hpp"
#include "source.hpp"
#include "target.hpp"

namespace beck_copy {

/// Returns the engines for `from` and `to`, the best first; the last is never refused.
std::vector<std::string_view> candidates(const settings& asked, const source& from,
                                         const target& to);

/// Returns whether a reflink is possible: a whole file is copied to a new file.
bool may_share(const settings& asked, const source& from, const target& to);

/// Shares the source's blocks with the target, ioctl_ficlone(2). Returns "", or the
/// reason for which that is refused.
std::string share(const source& from, const target& to);

/// Returns whether the target's blocks are shared because the file system made copy_file_range a
/// reflink. ioctl_fiemap.
bool is_shared(const target& to);

}  // namespace beck_copy
