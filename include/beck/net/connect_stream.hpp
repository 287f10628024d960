// SPDX-License-Identifier: BSL-1.0
// Connects the byte_stream of a client over TCP: the step that the clients of all protocols share.
#pragma once

#include <cstdint>
#include <string_view>

#include <beck/io/stream_layer.hpp>

namespace beck::ip {

namespace functions {

/// Connects over TCP to `host`, a name or an address, which must outlive the task, on the executor
/// `on`. An address is connected to directly; a name is looked up, and its addresses race as
/// async_connect() by name says. The stream has no delay of short writes (TCP_NODELAY).
/// Errors: those of the lookup and of the connection. Cancellation: through the awaiting scope.
/// Lifetime: the context of `on` outlives the stream.
task<io_result<owned_stream>> connect_stream(any_io_executor on, std::string_view host,
                                             std::uint16_t port);

}  // namespace functions
using namespace functions;

}  // namespace beck::ip
