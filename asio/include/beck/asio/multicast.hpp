// SPDX-License-Identifier: BSL-1.0
// Options for multicast and unicast.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/net/multicast.hpp>

BECK_ASIO_BEGIN

namespace ip {

namespace multicast = beck::ip::multicast;
namespace unicast = beck::ip::unicast;

}  // namespace ip

BECK_ASIO_END
