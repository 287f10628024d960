// SPDX-License-Identifier: BSL-1.0
// A server's and a client's context for cases whose topic is not certificates: one identity for
// 127.0.0.1, one for example.com, and a client that trusts both.
#pragma once

#include <beck/tls/client_context.hpp>
#include <beck/tls/server_context.hpp>

#include "tls/handshake_pair.hpp"

namespace beck::tls::test {

struct both_contexts {
  both_contexts() = default;
  /// Contexts without resumption: what a seed has decided repeats.
  explicit both_contexts(version both)
      : identity(files().chain(made::address), files().key(made::address),
                 served().resumption(false).versions(both, both)),
        trust(trusting().resumption(false)) {}

  /// Returns the usual ones, made once for the program.
  static both_contexts& get() {
    static both_contexts made;
    return made;
  }

  server_context identity{files().chain(made::address), files().key(made::address), served()};
  client_context trust{trusting()};

 private:
  static server_options served() {
    return server_options().identity(files().chain(made::good), files().key(made::good));
  }
};

}  // namespace beck::tls::test
