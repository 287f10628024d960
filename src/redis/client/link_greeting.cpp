// SPDX-License-Identifier: BSL-1.0
// A server that ends a connection at HELLO is greeted in RESP2, and asked for RESP3 behind that: if
// it ends the connection again, it is HELLO that it does not like.
#include "redis/client/link_greeting.hpp"

#include <string>

#include <beck/base/assert.hpp>

#include "redis/client/link.hpp"

namespace beck::redis::detail {

void link_greeting::begin() {
  BECK_ASSERT(!handshake_, "a connection is greeted before the last one has ended");
  has_heard_ = false;
  const bool is_old = link_.plan().url().version == protocol::resp2;
  const protocol wanted = is_old ? protocol::resp2 : link_.bounds().protocol;
  if (wanted == protocol::resp2 || hello_ == hello_state::ends) speak_resp2();
  greet(hello_ == hello_state::usual ? wanted : protocol::resp2, handshake::stage::begin);
}

void link_greeting::greet(protocol version, handshake::stage when) {
  handshake_ = std::make_unique<handshake>(link_.plan().url(), version, link_.bounds().name, when);
  version_ = version;
  link_.work().queues().greet(*handshake_, time_of(link_.executor()));
}

void link_greeting::speak_resp2() noexcept {
  link_.work().reader().use(protocol::resp2);
  link_.pushes().router().set_resp2();
}

error_code link_greeting::take_answers() {
  has_heard_ = true;
  if (!handshake_->is_done()) return {};
  const handshake::verdict said = handshake_->judge();
  const handshake::stage when = handshake_->when();
  if (when == handshake::stage::again) return said.why;
  if (said.answer == handshake::answer::no_resp3) {
    speak_resp2();
    version_ = protocol::resp2;
    if (when == handshake::stage::begin) greet(protocol::resp2, when);
    if (when == handshake::stage::change) hello_ = hello_state::usual;  // it has answered HELLO
  } else if (said.why) {
    link_.plan().refuse(said.answer == handshake::answer::refused_for_good, std::string(said.text));
    return said.why;
  } else if (when == handshake::stage::begin && asks_again()) {
    greet(protocol::resp3, handshake::stage::change);
  } else if (version_ == protocol::resp3) {
    hello_ = hello_state::usual;
  }
  return {};
}

/// Returns whether HELLO is to be said behind a greeting in RESP2.
bool link_greeting::asks_again() noexcept {
  if (hello_ != hello_state::suspected) return false;
  // If it does not answer now, it is HELLO. Subscriptions cannot do without.
  if (!link_.pushes().router().is_wanted()) hello_ = hello_state::ends;
  return true;
}

void link_greeting::end(bool was_ready, const error_code& cause) noexcept {
  BECK_ASSERT(!handshake_ || !handshake_->is_under_way(),
              "a greeting is under way behind the end of its connection");
  const bool was_hello = handshake_ && !was_ready && handshake_->version() == protocol::resp3;
  const bool is_cut = cause == beck::error::eof || cause == std::errc::connection_reset;
  handshake_.reset();
  if (was_ready && hello_ == hello_state::ends) hello_ = hello_state::suspected;
  if (was_hello && is_cut && !has_heard_ && hello_ == hello_state::usual)
    hello_ = hello_state::suspected;
}

}  // namespace beck::redis::detail
