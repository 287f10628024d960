// SPDX-License-Identifier: BSL-1.0
// Addresses of IP.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/asio/error.hpp>
#include <beck/net/address.hpp>

#if defined(BECK_ASIO_OLD_NAMES)
#include <beck/asio/old_ip.hpp>
#else
BECK_ASIO_BEGIN

namespace ip {

using beck::ip::address;
using beck::ip::address_v4;
using beck::ip::address_v6;

}  // namespace ip

BECK_ASIO_END
#endif

BECK_ASIO_BEGIN

namespace ip {

using beck::ip::bad_address_cast;
using beck::ip::make_address;
using beck::ip::make_address_v4;
using beck::ip::make_address_v6;
using beck::ip::v4_mapped;
using beck::ip::v4_mapped_t;

}  // namespace ip

BECK_ASIO_END
