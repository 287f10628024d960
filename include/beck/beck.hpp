// SPDX-License-Identifier: BSL-1.0
// The umbrella: everything a program needs, except the opt-in headers of interop/.
#pragma once

#include <beck/base/version.hpp>
