// SPDX-License-Identifier: BSL-1.0
// Addresses of IP.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/asio/error.hpp>
#include <beck/net/address.hpp>

BECK_ASIO_BEGIN

namespace ip {

using beck::ip::address;
using beck::ip::address_v4;
using beck::ip::address_v6;
using beck::ip::bad_address_cast;
using beck::ip::make_address;
using beck::ip::make_address_v4;
using beck::ip::make_address_v6;

}  // namespace ip

BECK_ASIO_END
