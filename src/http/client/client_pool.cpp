// SPDX-License-Identifier: BSL-1.0
// A free place goes to the call that has waited longest among those whose origin may have one more
// connection. An idle connection goes to the first call that waits for its origin.
#include "http/client/client_pool.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <system_error>

#include <beck/base/assert.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/within.hpp>
#include <beck/http/client_error.hpp>
#include <beck/net/connect_stream.hpp>

namespace beck::http::detail {
namespace {

/// Returns the options with a place for a connection at least, and not too many redirects.
client_options within_bounds(client_options bounds) noexcept {
  bounds.per_origin = std::max<std::size_t>(bounds.per_origin, 1);
  bounds.connections = std::max<std::size_t>(bounds.connections, 1);
  bounds.redirects = std::min(bounds.redirects, 10U);
  return bounds;
}

}  // namespace

void place::release() noexcept {
  if (origin_ == nullptr) return;
  const std::shared_ptr<client_pool> pool = std::move(pool_);
  pool->leave(*std::exchange(origin_, nullptr));
}

granted::~granted() {
  if (connection != nullptr) connection->close();
}

void place_wait::initiate(handler done) {
  done_ = std::move(done);
  ticket_ = pool_->next_ticket_++;
  origin_->waiting.push_back(*this);
  ++pool_->waiting_;
  pool_->counters_.waiting.add();
  pool_->counters_.waits.add();
}

void place_wait::leave() noexcept {
  if (!hook.is_linked()) return;
  BECK_ASSERT(pool_->waiting_ != 0, "a call waits that was not counted");
  hook.unlink();
  --pool_->waiting_;
  pool_->counters_.waiting.subtract();
  pool_->drop_if_unused(*origin_);
}

void place_wait::end(error_code ec) {
  BECK_ASSERT(hook.is_linked(), "a wait for a connection ends twice");
  leave();
  handler done = std::move(done_);
  done(ec);
}

void place_wait::cancel() noexcept {
  if (hook.is_linked()) end(make_error_code(error::operation_aborted));
}

task<io_result<owned_stream>> tcp_connector::connect(any_io_executor on, const origin& to) {
  io_result<owned_stream> result;
  stream_layer* const layer = layer_;
  if (to.is_https && layer == nullptr) {
    result.error_ = client_error::no_tls;
    co_return result;
  }
  const std::shared_ptr<const proxy_rules> rules = rules_;
  const proxy_place* const proxy = rules != nullptr ? rules->find(to) : nullptr;
  auto connecting = proxy != nullptr ? connect_through(std::move(on), *proxy, to)
                                     : ip::connect_stream(std::move(on), to.host, to.port);
  result = co_await std::move(connecting);
  if (!result.error() && to.is_https) {
    auto secured = layer->connect(std::move(result.value_), to.host);
    result = co_await std::move(secured);
  }
  co_return result;
}

request_form tcp_connector::form(const origin& to) const {
  const proxy_place* const proxy = rules_ != nullptr ? rules_->find(to) : nullptr;
  if (proxy == nullptr || !takes_whole_urls(*proxy, to)) return {};
  return {true, proxy->authorization, proxy->name};
}

client_pool::client_pool(any_io_executor executor, const client_options& bounds)
    : executor_(std::move(executor)), bounds_(within_bounds(bounds)) {}

client_pool::~client_pool() {
  BECK_ASSERT(open_ == 0 && waiting_ == 0, "a pool ends before its connections and calls");
  for (const auto& one : before_calls_) one.destroy();
  for (const auto& one : observers_) one.destroy();
}

origin_pool& client_pool::find(std::string_view key) {
  const auto found = origins_.find(key);
  if (found != origins_.end()) return *found->second;
  auto made = std::make_unique<origin_pool>(key);
  const std::string_view name = made->name;
  return *origins_.emplace(name, std::move(made)).first->second;
}

void client_pool::drop_if_unused(origin_pool& one) noexcept {
  if (one.open == 0 && one.waiting.empty()) origins_.erase(std::string_view(one.name));
}

/// Takes the idle connection that was used last, so that the older ones can expire.
bool client_pool::take_idle(origin_pool& from, granted& to) noexcept {
  client_connection* const last = from.idle.back();
  if (last == nullptr) return false;
  forget_idle(*last);
  last->become_busy();
  counters_.reused.add();
  to.connection = last->shared_from_this();
  return true;
}

bool client_pool::take_place(origin_pool& from, granted& to) noexcept {
  if (closed_ || from.open >= bounds_.per_origin) return false;
  ++from.open;  // before another one is closed, so that `from` is not erased
  if (open_ >= bounds_.connections) {
    client_connection* const longest = idle_.front();
    if (longest == nullptr) {
      --from.open;
      return false;
    }
    counters_.discarded.add();
    const bool busy = std::exchange(handing_on_, true);  // so that no waiting call gets the place
    longest->shared_from_this()->close();
    handing_on_ = busy;
  }
  ++open_;
  BECK_ASSERT(open_ <= bounds_.connections && from.open <= bounds_.per_origin,
              "there are more connections than client_options allow");
  BECK_ASSERT(!to.room && to.connection == nullptr, "a call gets two places");
  counters_.connections.add();
  to.room = place(shared_from_this(), from);
  return true;
}

void client_pool::leave(origin_pool& from) noexcept {
  BECK_ASSERT(from.open != 0 && open_ != 0, "a place was given back twice");
  --from.open;
  --open_;
  counters_.connections.subtract();
  hand_on();
  drop_if_unused(from);
}

/// Gives free places to waiting calls.
void client_pool::hand_on() noexcept {
  if (handing_on_) return;
  handing_on_ = true;
  while (waiting_ != 0) {
    place_wait* first = nullptr;
    for (const auto& [name, one] : origins_) {
      place_wait* const here = one->waiting.front();
      if (here == nullptr || one->open >= bounds_.per_origin) continue;
      if (first == nullptr || here->ticket() < first->ticket()) first = here;
    }
    if (first == nullptr || !take_place(first->at(), first->to())) break;
    first->end(error_code());
  }
  handing_on_ = false;
}

task<error_code> client_pool::acquire(std::string_view key, granted& to) {
  if (closed_) co_return make_error_code(error::operation_aborted);
  origin_pool& at = find(key);
  if (at.waiting.empty() && (take_idle(at, to) || take_place(at, to))) co_return error_code();
  if (waiting_ >= bounds_.waiting) {
    drop_if_unused(at);
    co_return make_error_code(client_error::too_many_waiting);
  }
  place_wait turn(*this, at, to);
  auto waited = co_await std::move(turn);
  co_return waited.error();
}

task<io_result<std::shared_ptr<client_connection>>> client_pool::connect(place at, url to,
                                                                         std::string& why) {
  io_result<std::shared_ptr<client_connection>> result;
  const http::origin where(to);
  try {
    const request_form form = connector_->form(where);
    const whole_url_form written{form.has_whole_url, std::string(form.proxy_authorization),
                                 std::string(form.proxy_name)};
    auto connecting = timeout(connector_->connect(executor_, where), bounds_.connect_timeout);
    auto got = co_await with_stop(stopping_.get_token(), std::move(connecting));
    result.error_ = got.error();
    if (got.error() && got.value_) why = std::string(got.value_->error_text());
    if (got.error() == error::timeout) result.error_ = client_error::connect_late;
    if (!result.error_ && closed_) result.error_ = error::operation_aborted;
    if (!result.error_) {
      result.value_ = std::make_shared<client_connection>(std::move(at), std::move(got).value());
      result.value_->write_as(written);
      result.value_->start();
      counters_.made.add();
    }
  } catch (const std::bad_alloc&) {
    result.error_ = make_error_code(std::errc::not_enough_memory);
  } catch (...) {
    result.error_ = beck::detail::caught_code();
    if (!result.error_) result.error_ = client_error::connector_failed;
  }
  co_return result;
}

void client_pool::put_back(const std::shared_ptr<client_connection>& one, duration time) {
  BECK_ASSERT(!one->is_closed(), "a connection is given back without its place");
  BECK_ASSERT(time > duration::zero() && !one->input().is_receiving(),
              "a connection that cannot be kept");
  origin_pool& at = one->room().origin();
  if (closed_) return one->close();
  if (place_wait* const next = at.waiting.front(); next != nullptr) {
    one->become_busy();
    counters_.reused.add();
    BECK_ASSERT(next->to().connection == nullptr, "a call gets two connections");
    next->to().connection = one;
    return next->end(error_code());
  }
  if (waiting_ != 0) return one->close();  // other calls wait for its place
  at.idle.push_back(*one);
  idle_.push_back(*one);
  counters_.idle.add();
  one->become_idle(time);
}

void client_pool::forget_idle(client_connection& one) noexcept {
  if (!one.idle_hook.is_linked()) return;
  one.idle_hook.unlink();
  one.origin_hook.unlink();
  counters_.idle.subtract();
}

void client_pool::close_idle() noexcept {
  while (client_connection* const one = idle_.front()) {
    counters_.discarded.add();
    one->shared_from_this()->close();
  }
}

void client_pool::close() noexcept {
  closed_ = true;
  handing_on_ = true;  // no call gets a place any more
  stopping_.request_stop();
  while (client_connection* const one = all_.front()) one->shared_from_this()->close();
  while (waiting_ != 0) {
    place_wait* first = nullptr;
    for (const auto& [name, one] : origins_) {
      if (first == nullptr) first = one->waiting.front();
    }
    first->end(make_error_code(error::operation_aborted));  // may erase the origin
  }
}

}  // namespace beck::http::detail
