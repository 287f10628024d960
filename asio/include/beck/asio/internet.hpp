// SPDX-License-Identifier: BSL-1.0
// All of ip and the loop, as <asio/ts/internet.hpp> has it.
#pragma once

#include <beck/asio/io_context.hpp>
#include <beck/asio/ip.hpp>
#include <beck/asio/multicast.hpp>
#include <beck/asio/tcp.hpp>
#include <beck/asio/udp.hpp>
