// SPDX-License-Identifier: BSL-1.0
// Resolves paths beneath a directory without openat2(2), for kernels before Linux 5.6 and sandboxes
// that refuse it.
#pragma once

namespace beck::detail {

/// Opens a file as openat2(2) with RESOLVE_BENEATH does: one component after the other, none of
/// them through a link that openat(2) would follow. `resolve`: further RESOLVE_ flags, but not
/// RESOLVE_CACHED. A directory that is moved meanwhile is still one that was reached from
/// `directory`, so what is opened was beneath it at some time. Paths that descend more than 256
/// levels, links included, end with -ENAMETOOLONG. Returns the descriptor or -errno; waits for the
/// device.
int open_beneath(int directory, const char* path, unsigned flags, unsigned mode,
                 unsigned resolve) noexcept;

}  // namespace beck::detail
