// SPDX-License-Identifier: BSL-1.0
//
// Every kind of endpoint: ip::basic_endpoint, local::basic_endpoint, and endpoint_data for any of
// them.
#pragma once

#include <beck/detail/endpoint_data.hpp>
#include <beck/net/ip_endpoint.hpp>
#include <beck/net/local_endpoint.hpp>
