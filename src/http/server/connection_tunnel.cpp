// SPDX-License-Identifier: BSL-1.0
// The change of a connection to another protocol: Upgrade and CONNECT. The connection stays with
// its worker until its tunnel has ended, or until the grace of a stop has passed.
#include <beck/http/tunnel.hpp>

#include <stdexcept>
#include <string>
#include <utility>

#include <beck/base/assert.hpp>

#include "http/message/characters.hpp"
#include "http/server/worker.hpp"

namespace beck::http::detail {
namespace {

[[noreturn]] void forbid(const char* why) {
  throw std::logic_error(std::string("http: take_over() ") + why);
}

/// Returns the value of the Upgrade field among the lines of a response; an empty text without one.
std::string_view upgrade_in(std::string_view lines) noexcept {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\r'));
    const std::size_t colon = line.find(':');
    if (equal_in_any_case(line.substr(0, colon), "upgrade")) return trimmed(line.substr(colon + 1));
    lines.remove_prefix(line.size() + 2);
  }
  return {};
}

/// Throws std::logic_error unless the request asks for a change of the protocol, and the response
/// agrees to it.
void require_tunnel(connection& of) {
  const connection_exchange& x = of.active();
  x.response.require_no_head();
  if (x.request.text == nullptr) forbid("needs a coroutine, or an exchange");
  if (!of.requests().body_is_whole()) forbid("before the whole body was read");
  if (x.response.has_length()) forbid("after content_length()");
  if (x.request.head.method() == method::connect) {
    if (number_of(x.response.status) / 100 != 2) forbid("of CONNECT with a status that is not 2xx");
    return;
  }
  if (x.request.head.minor_version() == 0 || !x.request.head.lists(field::connection, "upgrade"))
    forbid("of a request that asks for no upgrade");
  const std::string_view protocol = upgrade_in(x.response.fields.text());
  if (protocol.empty() || !x.request.head.lists(field::upgrade, protocol))
    forbid("without a field Upgrade with one of the client's protocols");
}

}  // namespace

task<io_result<tunnel>> connection::take_over() {
  require_tunnel(*this);
  if (!active_->hooks.empty()) {
    responses_.call_hooks();
    require_tunnel(*this);
  }
  return send_and_take_over(operation(*this));
}

/// Sends the head, and passes the stream to the handler.
task<io_result<tunnel>> connection::send_and_take_over(operation under_way) {
  connection& c = *under_way.of();
  if (!c.is_lost()) {
    c.active_->response.require_no_head();  // the handler may have begun one since this was made
    c.responses_.send_tunnel_head();
  }
  const bool sent = co_await c.responses_.output().flush();
  if (!sent || c.is_lost())
    co_return io_result<tunnel>(make_error_code(std::errc::broken_pipe), tunnel());
  BECK_ASSERT(c.tunnel_keeps_ == nullptr, "a connection has two tunnels");
  c.change(connection_event::take_over);
  c.evict_hook.unlink();
  worker& owner = *c.worker_;
  owner.counters().taken_over.add();
  c.tunnel_keeps_ = under_way.of();
  co_return io_result<tunnel>(error_code(), tunnel(c));
}

/// Ends the connection after its tunnel. Does not stop the handler, which may have more to do.
void connection::return_tunnel() noexcept {
  const std::shared_ptr<connection> self = std::move(tunnel_keeps_);
  if (is_lost()) return;  // cut after the grace
  const bool was_alone = state_ == connection_state::tunnel_alone;
  change(connection_event::lose);
  stream_->socket().close();
  if (was_alone) worker_->remove(*this);
}

}  // namespace beck::http::detail

namespace beck::http {

tunnel& tunnel::operator=(tunnel&& other) noexcept {
  if (this == &other) return *this;
  if (connection_ != nullptr) connection_->return_tunnel();
  connection_ = std::exchange(other.connection_, nullptr);
  return *this;
}

tunnel::~tunnel() {
  if (connection_ != nullptr) connection_->return_tunnel();
}

byte_stream& tunnel::stream() const noexcept { return connection_->stream(); }

std::string_view tunnel::read_ahead() const noexcept {
  return connection_->requests().read_ahead();
}

}  // namespace beck::http
