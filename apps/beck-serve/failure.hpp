// SPDX-License-Identifier: BSL-1.0
//
// The errors that end the tool: one sentence for the user.
#pragma once

#include "common/errno_text.hpp"
#include "common/failure.hpp"

namespace beck_serve {

using beck_apps::errno_text;
using beck_apps::failure;
using beck_apps::wrong_usage;

}  // namespace beck_serve
