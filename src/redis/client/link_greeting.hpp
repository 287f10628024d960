// SPDX-License-Identifier: BSL-1.0
// The greetings of a link's connections: the version of the protocol that each begins with, and
// whether the server ends connections at HELLO.
#pragma once

#include <cstdint>
#include <memory>

#include <beck/redis/exec.hpp>

#include "redis/session/handshake.hpp"
#include "redis/session/session.hpp"

namespace beck::redis::detail {

/// Whether a server ends connections at HELLO, as some proxies do, as far as that is known.
enum class hello_state : std::uint8_t {
  usual,      ///< nothing: it is greeted with HELLO
  suspected,  ///< it has ended a connection without an answer: it is asked in RESP2 first
  ends,       ///< it answers in RESP2, and has ended a connection at HELLO
};

/// The greeting of the present connection, in one handshake or several. Thread: that of the
/// context.
class link_greeting {
 public:
  /// `known`: of the server of `of`.
  link_greeting(link& of, hello_state known) noexcept : link_(of), hello_(known) {}

  /// Greets the server of a new connection. Throws std::bad_alloc.
  void begin();
  /// Greets it behind a RESET, for the next lane. Throws std::bad_alloc.
  void begin_again() { greet(version_, handshake::stage::again); }
  /// Takes the replies that have come. Returns the server's refusal; no error: it has accepted the
  /// greeting if is_done(). Throws std::bad_alloc.
  error_code take_answers();
  /// Returns whether no answer is missing.
  bool is_done() const noexcept { return handshake_->is_done(); }
  /// Takes the end of the connection with `cause`, after the session.
  void end(bool was_ready, const error_code& cause) noexcept;
  /// Lets the session forget the handshake that is under way.
  void drop(session& from) noexcept {
    if (handshake_ && handshake_->is_under_way()) from.forget(*handshake_);
  }

  /// Returns the version that the connection speaks, or is greeted in.
  protocol version() const noexcept { return version_; }
  hello_state known() const noexcept { return hello_; }

 private:
  void greet(protocol version, handshake::stage when);
  void speak_resp2() noexcept;
  bool asks_again() noexcept;

  link& link_;
  std::unique_ptr<handshake> handshake_;
  protocol version_ = protocol::resp2;
  hello_state hello_;
  bool has_heard_ = false;  // on this connection
};

}  // namespace beck::redis::detail
