// SPDX-License-Identifier: BSL-1.0
// A server that prints its port, for examples that take 0 as "any free one".
#pragma once

#include <beck/http/server.hpp>
#include <cstdio>

namespace example {

/// Serves until a signal stops the server, as http::run() does, and prints the port first.
inline int run_announced(beck::http::server& server, beck::http::run_options how = {}) {
  how.on_listening = [](void* of) {
    std::printf("listening on port %d\n", static_cast<beck::http::server*>(of)->endpoint().port());
    std::fflush(stdout);
  };
  how.listening_data = &server;
  return beck::http::run(server, how);
}

}  // namespace example
