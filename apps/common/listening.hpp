// SPDX-License-Identifier: BSL-1.0
//
// The things that servers need before they listen: addresses of the command line, descriptors.
#pragma once

#include <beck/net/tcp.hpp>
#include <cstddef>
#include <string>
#include <string_view>

namespace beck_apps {

/// Lets the process open as many files and connections as it may. Returns their number.
std::size_t raise_descriptor_limit();

/// Returns the endpoint of an address of IPv4 or IPv6, of "localhost", or of "*", which is all
/// addresses. Throws wrong_usage, which begins with `option`.
beck::ip::tcp::endpoint endpoint_of(std::string_view option, const std::string& host,
                                    std::uint16_t port);

/// Returns "ADDRESS:PORT", with brackets around an address of IPv6.
std::string text_of(const beck::ip::tcp::endpoint& at);

}  // namespace beck_apps
