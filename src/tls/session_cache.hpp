// SPDX-License-Identifier: BSL-1.0
// The sessions that a client may resume: a few for each name, the newest first, and a bound for all
// of them together.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <string_view>

#include "tls/handles.hpp"

namespace beck::tls::detail {

/// Thread: any.
class session_cache {
 public:
  static constexpr std::size_t sessions_max = 512;
  static constexpr std::size_t per_name_max = 4;

  /// Makes connections of the context leave their sessions here. The cache must outlive the context
  /// and its connections.
  void apply_to(SSL_CTX* context);
  /// Makes `ssl`, which expects the peer `name`, ask to resume a session, if there is one. A
  /// session of TLS 1.3 is used once: with a second use an observer could tell that the two
  /// connections have one client (RFC 8446, appendix C.4).
  void offer(SSL* ssl, std::string_view name);
  /// Keeps a session of a connection that has verified its peer as `name`.
  void add(std::string name, session_ptr session);
  std::size_t size() const noexcept;

 private:
  struct kept {
    std::string name;
    session_ptr session;
  };

  static int on_session(SSL* ssl, SSL_SESSION* session);
  session_ptr take(std::string_view name);

  mutable std::mutex mutex_;
  std::list<kept> sessions_;  ///< the newest first
};

}  // namespace beck::tls::detail
