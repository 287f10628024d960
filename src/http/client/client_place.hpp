// SPDX-License-Identifier: BSL-1.0
// The right to have one connection to an origin, and the queue entry of a call that waits for it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <beck/detail/intrusive_list.hpp>
#include <beck/run/op.hpp>

namespace beck::http::detail {

class client_connection;
class client_pool;
struct origin_pool;

/// The right to have one connection to an origin. Move-only; its destructor passes the right to the
/// next waiting call.
class place {
 public:
  place() noexcept = default;
  place(std::shared_ptr<client_pool> of, origin_pool& at) noexcept
      : pool_(std::move(of)), origin_(&at) {}
  place(place&& other) noexcept
      : pool_(std::move(other.pool_)), origin_(std::exchange(other.origin_, nullptr)) {}
  place& operator=(place&& other) noexcept {
    place old(std::move(*this));
    pool_ = std::move(other.pool_);
    origin_ = std::exchange(other.origin_, nullptr);
    return *this;
  }
  ~place() { release(); }

  void release() noexcept;
  explicit operator bool() const noexcept { return origin_ != nullptr; }
  client_pool& pool() const noexcept { return *pool_; }
  origin_pool& origin() const noexcept { return *origin_; }

 private:
  std::shared_ptr<client_pool> pool_;
  origin_pool* origin_ = nullptr;
};

/// The result of a wait: an idle connection, or the place for a new one.
struct granted {
  granted() noexcept = default;
  granted(granted&&) noexcept = default;
  granted& operator=(granted&&) noexcept = default;
  ~granted();  // closes a connection that no call has taken

  std::shared_ptr<client_connection> connection;
  place room;
};

/// A call that waits for a place or an idle connection.
class place_wait : public op<place_wait, void(error_code)> {
 public:
  static constexpr const char* waits_for = "http connection";

  place_wait(client_pool& of, origin_pool& at, granted& to) noexcept
      : pool_(&of), origin_(&at), to_(&to) {}
  place_wait(place_wait&& inert) noexcept
      : op(static_cast<op&&>(inert)), pool_(inert.pool_), origin_(inert.origin_), to_(inert.to_) {}
  ~place_wait() { leave(); }

  void initiate(handler done);
  void cancel() noexcept;
  /// Ends the wait. Requires that it is in its list.
  void end(error_code ec);
  granted& to() noexcept { return *to_; }
  origin_pool& at() noexcept { return *origin_; }
  std::uint64_t ticket() const noexcept { return ticket_; }

  beck::detail::list_hook hook;

 private:
  void leave() noexcept;

  client_pool* pool_;
  origin_pool* origin_;
  granted* to_;
  handler done_;
  std::uint64_t ticket_ = 0;
};

}  // namespace beck::http::detail
