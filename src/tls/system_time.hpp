// SPDX-License-Identifier: BSL-1.0
// The system's clock, for texts whose end other machines and later runs have to know.
#pragma once

namespace beck::tls::detail {

/// Returns the seconds since 1970.
long long system_seconds() noexcept;

}  // namespace beck::tls::detail
