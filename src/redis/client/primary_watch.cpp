// SPDX-License-Identifier: BSL-1.0
// One more user of the sentinels: without a connection of its own, it reads what they have chosen.
#include <beck/redis/primary_watch.hpp>

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/coro/within.hpp>
#include <beck/run/stop_token.hpp>

#include "redis/client/link.hpp"
#include "redis/client/sentinels.hpp"

namespace beck::redis {
namespace detail {

/// The parts of a watch. Shared by the watch and its tasks. Thread: that of the context.
class watched_primary {
 public:
  watched_primary(const any_io_executor& executor, sentinel_url to, const client_options& how)
      : by_(new sentinels(executor, std::move(to), how)) {}
  watched_primary(const watched_primary&) = delete;
  watched_primary& operator=(const watched_primary&) = delete;
  void add_share() noexcept { ++shares_; }
  void drop_share() noexcept {
    BECK_ASSERT(shares_ != 0, "a watch has more users than shares");
    if (--shares_ == 0) delete this;
  }

  sentinels& by() const noexcept { return *by_; }
  std::string_view error_text() const noexcept { return reason_; }
  void close() noexcept {
    is_closed_ = true;
    by_->leave(place_);
    stopping_.request_stop();
  }

  static task<io_result<>> find(shared<watched_primary> self) {
    watched_primary& w = *self;
    io_result<> result;
    if (w.is_closed_) {
      result.error_ = beck::error::operation_aborted;
      co_return result;
    }
    try {
      w.by_->join(w.place_);
    } catch (const std::bad_alloc&) {
      result.error_ = no_memory();
      co_return result;
    }
    auto finding = with_stop(w.stopping_.get_token(), w.by_->find());
    const auto found = co_await std::move(finding);
    result.error_ = found.error();
    w.reason_ = result.error_ ? w.by_->error_text() : std::string();
    co_return result;
  }

  static task<io_result<>> wait_for_change(shared<watched_primary> self, std::uint64_t seen) {
    watched_primary& w = *self;
    auto waiting = with_stop(w.stopping_.get_token(), w.by_->wait_for_change(seen));
    auto changed = co_await std::move(waiting);
    co_return changed;
  }

 private:
  ~watched_primary() = default;

  shared<sentinels> by_;
  sentinel_user place_;  // it has no connection that would have to be led to the primary
  stop_source stopping_;
  std::string reason_;
  std::size_t shares_ = 1;
  bool is_closed_ = false;
};

namespace {

watched_primary* make_watch(const any_io_executor& executor, std::string_view url,
                            const client_options& how) {
  if (executor.table()->concurrent)
    throw std::logic_error("redis: a watch needs a context for one thread; use one for each");
  return new watched_primary(executor, parse_sentinel_url(url), how);
}

}  // namespace
}  // namespace detail

primary_watch::primary_watch(const any_io_executor& executor, std::string_view url,
                             const client_options& how)
    : self_(detail::make_watch(executor, url, how)) {}

primary_watch::~primary_watch() {
  close();
  self_->drop_share();
}

primary_watch& primary_watch::secure(stream_layer& with) noexcept {
  self_->by().secure(with);
  return *this;
}

task<io_result<>> primary_watch::find() {
  return detail::watched_primary::find(detail::shared<detail::watched_primary>(*self_));
}

std::string_view primary_watch::host() const noexcept { return self_->by().primary().host; }

std::uint16_t primary_watch::port() const noexcept { return self_->by().primary().port; }

std::uint64_t primary_watch::changes() const noexcept { return self_->by().changes(); }

task<io_result<>> primary_watch::wait_for_change(std::uint64_t seen) {
  return detail::watched_primary::wait_for_change(detail::shared<detail::watched_primary>(*self_),
                                                  seen);
}

std::string_view primary_watch::error_text() const noexcept { return self_->error_text(); }

void primary_watch::close() noexcept { self_->close(); }

}  // namespace beck::redis
