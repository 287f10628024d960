// SPDX-License-Identifier: BSL-1.0
// ip::udp, with its resolver.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/asio/ip.hpp>
#include <beck/interop/default_token_net.hpp>
#include <beck/net/udp.hpp>

#if defined(BECK_ASIO_OLD_NAMES)
#include <beck/asio/old_ip.hpp>
#else
BECK_ASIO_BEGIN

namespace ip {

using beck::ip::udp;

}  // namespace ip

BECK_ASIO_END
#endif
