// SPDX-License-Identifier: BSL-1.0
// Two engines without a network: a case decides which bytes each of them gets, and when.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "tls/both_contexts.hpp"
#include "tls/contexts.hpp"
#include "tls/engine_feed.hpp"

namespace beck::tls::test {

inline std::string seal(engine& e, std::string_view text, std::int64_t now = 1) {
  std::string sealed;
  while (!text.empty()) {
    const const_buffer part(text.data(), text.size());
    const std::size_t taken = e.write(const_buffer_span(&part, 1), now);
    REQUIRE(taken != 0);
    sealed += output_of(e);
    text.remove_prefix(taken);
  }
  return sealed;
}

/// A client and a server.
struct engine_pair {
  explicit engine_pair(both_contexts& of = both_contexts::get())
      : client(of.trust.state().make_session("example.com")),
        server(of.identity.state().make_session()) {}

  /// Makes the handshake. `to_server` and `to_client` get what was sent.
  void shake() {
    std::string from_client, from_server;
    client.shake();
    from_client = output_of(client);
    while (!from_client.empty() || !from_server.empty()) {
      to_server += from_client;
      feed(server, std::exchange(from_client, {}), from_server);
      to_client += from_server;
      feed(client, std::exchange(from_server, {}), from_client);
    }
    REQUIRE(client.state() == engine_state::open);
    REQUIRE(server.state() == engine_state::open);
  }

  engine client, server;
  std::string to_server, to_client;
};

}  // namespace beck::tls::test
