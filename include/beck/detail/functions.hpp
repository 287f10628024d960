// SPDX-License-Identifier: BSL-1.0
//
// Where functions live that calls without a namespace must not find. Argument-dependent lookup
// looks into the namespace of an argument's type, and passes over those that a using-directive
// opens: `beck::spawn(...)` is found in `functions`, and a program's own `spawn(work)` is alone.
// Functions of Asio's vocabulary, and those that lookup is meant to find, are not in there.
#pragma once

namespace beck {

namespace functions {}
using namespace functions;

namespace detail {

namespace functions {}
using namespace functions;

}  // namespace detail

}  // namespace beck
