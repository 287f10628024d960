// SPDX-License-Identifier: BSL-1.0
// The connector of a client that was given none.
#pragma once

#include <beck/http/connector.hpp>

namespace beck::http::detail {

/// Connects over TCP; names with Happy Eyeballs. https: no_tls, unless there is a layer for it.
class tcp_connector final : public connector {
 public:
  task<io_result<owned_stream>> connect(any_io_executor on, const origin& to) override;
  void secure(stream_layer& with) noexcept { layer_ = &with; }

 private:
  stream_layer* layer_ = nullptr;
};

}  // namespace beck::http::detail
