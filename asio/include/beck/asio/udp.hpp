// SPDX-License-Identifier: BSL-1.0
// ip::udp, with its resolver.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/asio/ip.hpp>
#include <beck/interop/default_token_net.hpp>
#include <beck/net/udp.hpp>

BECK_ASIO_BEGIN

namespace ip {

using beck::ip::udp;

}  // namespace ip

BECK_ASIO_END
