// SPDX-License-Identifier: BSL-1.0
// The public stream: each operation is a coroutine of the session, except a read of bytes that are
// already decrypted.
#include <beck/tls/stream.hpp>

#include <beck/tls/client_context.hpp>
#include <beck/tls/server_context.hpp>

#include "coro/task_completion.hpp"
#include "tls/contexts.hpp"
#include "tls/session.hpp"

namespace beck::tls {
namespace detail {
namespace {

using beck::detail::task_completion;

task<io_result<std::size_t>> read(session_ref from, mutable_buffer to) {
  const error_code ec = co_await session::handshake(from);
  if (ec) co_return io_result<std::size_t>(ec, 0);
  auto got = co_await from->input().read_some(to);
  co_return got;
}

task<io_result<std::size_t>> write(session_ref to, const_buffer_span parts) {
  const error_code ec = co_await session::handshake(to);
  if (ec) co_return io_result<std::size_t>(ec, 0);
  auto sent = co_await to->output().write_some(parts);
  co_return sent;
}

task<error_code> shut_down(session_ref of) {
  auto ended = co_await of->output().finish();
  co_return ended.error();
}

}  // namespace

session_ref::session_ref(const session_ref& other) noexcept : session_(other.session_) {
  if (session_ != nullptr) session_->add_share();
}

session_ref::~session_ref() {
  if (session_ != nullptr) session_->drop_share();
}

any_io_executor stream_read::get_executor() const noexcept { return from_->executor(); }

bool stream_read::ready() {
  std::size_t bytes = 0;
  error_code ec;
  return from_->input().read_ready(to_, bytes, ec) && finish(ec, bytes);
}

void stream_read::initiate(handler done) {
  co_spawn(from_->executor(), read(from_, to_), task_completion<std::size_t>(std::move(done)));
}

any_io_executor stream_write::get_executor() const noexcept { return to_->executor(); }

bool stream_write::ready() {
  if (!to_->is_open()) return false;
  error_code ec;
  const std::size_t bytes = to_->output().write_now(data(), ec);
  return ec != beck::error::would_block && finish(ec, bytes);
}

void stream_write::initiate(handler done) {
  co_spawn(to_->executor(), write(to_, data()), task_completion<std::size_t>(std::move(done)));
}

any_io_executor stream_step::get_executor() const noexcept { return of_->executor(); }

void stream_step::initiate(handler done) {
  task<error_code> work = which_ == kind::handshake ? session::handshake(of_) : shut_down(of_);
  co_spawn(of_->executor(), std::move(work), task_completion<>(std::move(done)));
}

}  // namespace detail

stream::stream(owned_stream transport, client_context& trust, std::string_view name)
    : of_(new detail::session(std::move(transport), trust.state().make_session(name))) {}

stream::stream(owned_stream transport, server_context& identity)
    : of_(new detail::session(std::move(transport), identity.state().make_session())) {}

stream& stream::operator=(stream&& other) noexcept {
  stream taken(std::move(other));  // closes the former session
  of_ = std::move(taken.of_);
  return *this;
}

stream::~stream() {
  if (of_) of_->close(false);
}

std::string_view stream::error_text() const noexcept { return of_->engine().error_text(); }

std::string_view stream::protocol() const noexcept { return of_->protocol(); }

std::string_view stream::version() const noexcept {
  if (!of_->is_open()) return {};
  return SSL_get_version(of_->engine().ssl());
}

bool stream::is_resumed() const noexcept { return SSL_session_reused(of_->engine().ssl()) == 1; }

beck::detail::fixed_text<100> stream::peer() const { return of_->peer_name(); }

any_io_executor stream::get_executor() const noexcept { return of_->executor(); }

beck::detail::stream_object& stream::socket() noexcept { return of_->transport().socket(); }

}  // namespace beck::tls
