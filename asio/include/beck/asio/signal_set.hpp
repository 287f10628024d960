// SPDX-License-Identifier: BSL-1.0
// Signals of the process.
#pragma once

#include <csignal>

#include <beck/asio/config.hpp>
#include <beck/interop/default_token.hpp>
#include <beck/io/signal_set.hpp>

BECK_ASIO_BEGIN

using beck::signal_set;

BECK_ASIO_END
