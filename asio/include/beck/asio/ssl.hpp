// SPDX-License-Identifier: BSL-1.0
// TLS with Asio's interface, over OpenSSL.
#pragma once

#include <beck/asio/ssl_context.hpp>
#include <beck/asio/ssl_error.hpp>
#include <beck/asio/ssl_host_name.hpp>
#include <beck/asio/ssl_stream.hpp>
#include <beck/asio/ssl_verify.hpp>
