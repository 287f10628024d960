// SPDX-License-Identifier: BSL-1.0
//
// The I/O of a client whose commands go over a shared connection: one coroutine receives commands,
// one writes replies.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/coro/task.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/io/buffer_lease.hpp>
#include <beck/io/read_write.hpp>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "counters.hpp"
#include "settings.hpp"
#include "shared_client.hpp"
#include "shared_connection.hpp"
#include "socket_steps.hpp"

namespace beck_redis_proxy {

/// A client on a socket, which must outlive run().
template <class Socket>
class shared_session final : public shared_client {
 public:
  shared_session(Socket& client, const shared_servers& servers, const settings& asked,
                 counters& counts, const statistics& all)
      : shared_client(servers, all), client_(client), asked_(asked), counts_(counts) {}

  /// Shares the client's commands as long as that is possible; all replies that it can have were
  /// written then. Returns how it has ended: of moved, and only then, reason() and rest() follow.
  beck::task<shared_end> run() {
    try {
      auto both = beck::when_all(receive(), write());
      beck::ignore(co_await std::move(both));
    } catch (const std::bad_alloc&) {
      end(shared_end::failed);
    }
    const shared_end how = end_;
    if (how != shared_end::moved) release();
    if (is_receiving()) end_ = shared_end::failed;  // the socket is gone for later replies
    client_.expires_never();
    co_return how;
  }

  move_reason reason() const noexcept { return reason_; }
  /// Returns the size of the command that could not be shared if it waits for replicas, or else 0.
  std::size_t wait_bytes() const noexcept { return wait_bytes_; }
  /// Adds the commands that tell another connection what the client has said to the proxy.
  void introduce(beck::redis::request& to) const { identity().repeat(version(), to); }
  /// Returns whether the first of these is needed: HELLO.
  bool needs_hello() const noexcept { return version() == beck::redis::protocol::resp3; }
  /// Returns the bytes from the command on that could not be shared.
  std::string_view rest() const noexcept { return {in_.view().data(), in_.view().size()}; }

 private:
  beck::task<> receive() {
    while (end_ == shared_end::none) {
      const need what = send_commands();
      if (what == need::room) {
        auto waiting = server().is_full() ? await(server().room()) : await(may_go_on_);
        co_await std::move(waiting);
      } else if (what == need::bytes) {
        if (in_.empty()) in_.release();
        limit_silence(client_, asked_.idle);
        const auto got = co_await beck::async_receive(client_);
        if (end_ != shared_end::none) break;
        if (got.error() == beck::error::eof) {
          end(shared_end::input);
        } else if (got.error()) {
          end(end_of(got.error()));
        } else {
          append(in_, *got);
        }
      }
    }
  }

  beck::task<> write() {
    for (;;) {
      if (out_.empty()) {
        if (!is_receiving() || (end_ != shared_end::none && has_all_replies())) break;
        if (end_ == shared_end::none) {  // receive() ends by --idle
          const auto waited = co_await has_output_.wait();
          if (waited.error() && is_receiving()) end(shared_end::failed);
        } else {
          auto waiting = await(has_output_);
          co_await std::move(waiting);
        }
        continue;
      }
      if (!is_receiving() && end_ != shared_end::lost) break;
      writing_.swap(out_);
      limit_silence(client_, asked_.idle);
      const auto wrote = co_await beck::async_write(client_, beck::buffer(writing_));
      counts_.to_clients += wrote.value_;
      writing_.clear();
      if (writing_.capacity() > unread_bytes) writing_.shrink_to_fit();
      if (wrote.error() && end_ != shared_end::overflow) end(end_of(wrote.error()));
      may_go_on_.set();
    }
    abort();
  }

  /// Waits for an event. Ends the client if that takes longer than --idle, or at a stop.
  template <class Event>
  beck::task<> await(Event& event) {
    beck::error_code ec;
    if (asked_.idle == beck::duration::zero()) {
      const auto waited = co_await event.wait();
      ec = waited.error();
    } else {
      auto waiting = beck::timeout(event.wait(), asked_.idle);
      const auto waited = co_await std::move(waiting);
      ec = waited.error();
    }
    if (ec && is_receiving()) end(end_of(ec));
  }

  static shared_end end_of(const beck::error_code& ec) noexcept {
    return ec == beck::error::timeout ? shared_end::idle : shared_end::failed;
  }

  void abort() noexcept override { client_.cancel(); }

  Socket& client_;
  const settings& asked_;
  counters& counts_;
};

}  // namespace beck_redis_proxy
