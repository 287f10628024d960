// SPDX-License-Identifier: BSL-1.0
// Does not compile: a reply of Redis read into a view.
// lines: 24
// says: a view would refer to bytes that are gone
#include <beck/redis/command.hpp>

auto get() { return beck::redis::cmd<std::string_view>("GET", "k"); }
