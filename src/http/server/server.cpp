// SPDX-License-Identifier: BSL-1.0
// The server: its shared state, and serve(), which is one worker on one context. A stop of the
// scope that awaits serve() drains the worker.
#include <beck/http/server.hpp>

#include <algorithm>
#include <stdexcept>
#include <system_error>

#include <beck/coro/this_coro.hpp>

#include "http/server/server_state.hpp"
#include "http/server/worker.hpp"

namespace beck::http {
namespace detail {
namespace {

/// Returns the limits with a place for a connection and a handshake at least.
limits within_bounds(limits bounds) noexcept {
  bounds.connections = std::max<std::size_t>(bounds.connections, 1);
  bounds.handshakes = std::max<std::size_t>(bounds.handshakes, 1);
  return bounds;
}

}  // namespace

server_state::server_state(void* handler, const handler_table& table, const limits& bounds) noexcept
    : handler_(handler), table_(table), bounds_(within_bounds(bounds)) {}

void server_state::behind_proxy(std::string_view proxies, field how) {
  if (how != field::x_forwarded_for && how != field::forwarded)
    throw std::invalid_argument("http: behind_proxy() reads X-Forwarded-For or Forwarded, not " +
                                std::string(name_of(how)));
  proxies_.add(proxies);
  forwarded_in_ = how;
}

ip::tcp::endpoint server_state::endpoint(std::size_t index) const {
  const std::lock_guard guard(mutex_);
  if (index >= places_.size())
    throw std::out_of_range("http: the server has " + std::to_string(places_.size()) +
                            " endpoints, not " + std::to_string(index + 1));
  return places_[index].at;
}

std::vector<std::unique_ptr<listener>> server_state::open_listeners(
    const any_io_executor& executor) {
  const std::lock_guard guard(mutex_);
  if (places_.empty()) throw std::logic_error("http: serve() without listen()");
  std::vector<std::unique_ptr<listener>> made;
  for (listening_place& one : places_) {
    try {
      made.push_back(std::make_unique<listener>(executor, one, share_ports_));
    } catch (...) {
      const error_code failed = beck::detail::caught_code();
      if (!one.any_family || failed != std::errc::address_family_not_supported) throw;
      one.at = ip::tcp::endpoint(ip::tcp::v4(), one.at.port());
      made.push_back(std::make_unique<listener>(executor, one, share_ports_));
    }
    one.any_family = false;
  }
  return made;
}

bool server_state::add(const std::shared_ptr<worker>& one,
                       std::shared_ptr<worker_counters> counters) {
  const std::lock_guard guard(mutex_);
  std::erase_if(workers_, [](const std::weak_ptr<worker>& w) { return w.expired(); });
  workers_.push_back(one);
  counters_.push_back(std::move(counters));
  return stopped_;
}

/// Removes a worker. Waits for a stop() on another thread that may post to the worker's context.
void server_state::remove(const worker& one) noexcept {
  const std::lock_guard guard(mutex_);
  std::erase_if(workers_, [&one](const std::weak_ptr<worker>& w) {
    const std::shared_ptr<worker> living = w.lock();
    return living == nullptr || living.get() == &one;
  });
}

void server_state::stop(duration grace) noexcept {
  announce_stop();
  const std::lock_guard guard(mutex_);
  stopped_ = true;
  for (const std::weak_ptr<worker>& one : workers_) {
    std::shared_ptr<worker> living = one.lock();
    if (living == nullptr) continue;
    const any_io_executor executor = living->executor();
    post(executor, [keep = std::move(living), grace] { keep->drain(grace); });
  }
}

server_stats server_state::stats() const noexcept {
  const std::lock_guard guard(mutex_);
  server_stats sum;
  for (const std::shared_ptr<worker_counters>& one : counters_) one->add_to(sum);
  return sum;
}

}  // namespace detail

server::server(void* handler, const detail::handler_table& table, const limits& bounds)
    : state_(new detail::server_handle{
          std::make_shared<detail::server_state>(handler, table, bounds)}) {}

server::~server() { delete state_; }

void server::listen(std::uint16_t port) {
  listen_over(ip::tcp::endpoint(ip::tcp::v6(), port), nullptr, true);
}

void server::listen(std::uint16_t port, stream_layer& layer) {
  listen_over(ip::tcp::endpoint(ip::tcp::v6(), port), &layer, true);
}

void server::listen(const ip::tcp::endpoint& at) { listen_over(at, nullptr, false); }

void server::listen(const ip::tcp::endpoint& at, stream_layer& layer) {
  listen_over(at, &layer, false);
}

void server::listen_over(const ip::tcp::endpoint& at, stream_layer* layer, bool any_family) {
  detail::listening_place where;
  where.at = at;
  where.any_family = any_family;
  where.layer = layer;
  state_->state->listen(std::move(where));
}

void server::listen(const local::stream_protocol::endpoint& at) {
  detail::listening_place where;
  where.path = at;
  where.is_local = true;
  state_->state->listen(std::move(where));
}

void server::listen(const listen_options& how) {
  detail::listening_place where;
  where.is_local = detail::is_local_listener(how.descriptor);
  where.inherited = detail::duplicate_socket(how.descriptor);
  where.layer = how.layer;
  state_->state->listen(std::move(where));
}

std::size_t server::listen_inherited(stream_layer* layer) {
  const std::size_t count = detail::count_inherited();
  std::vector<detail::listening_place> places(count);
  for (std::size_t i = 0; i < count; ++i) {
    places[i].is_local = detail::is_local_listener(detail::inherited_first + static_cast<int>(i));
    places[i].layer = layer;
  }
  if (count != 0) detail::claim_inherited();
  for (std::size_t i = 0; i < count; ++i) {
    places[i].inherited = detail::take_inherited(detail::inherited_first + static_cast<int>(i));
    state_->state->listen(std::move(places[i]));
  }
  return count;
}

void server::report_to(const detail::callback<const exchange_record&>& observer) {
  state_->state->report_to(observer);
}

void server::report_to(const detail::callback<const handshake_record&>& observer) {
  state_->state->report_to(observer);
}

void server::make_pages_with(const detail::callback<error_page&>& function) noexcept {
  state_->state->make_pages_with(function);
}

void server::behind_proxy(std::string_view proxies, field how) {
  state_->state->behind_proxy(proxies, how);
}

void server::share_ports(bool on) noexcept { state_->state->share_ports(on); }

task<> server::serve() {
  const std::shared_ptr<detail::server_state> state = state_->state;
  const any_io_executor executor = co_await this_coro::executor;
  if (executor.table()->concurrent) {
    throw std::logic_error("http: a server needs a context for one thread; use one for each");
  }
  const auto serves = std::make_shared<detail::worker>(state, executor);
  detail::serve_operation serving(serves);
  ignore(co_await std::move(serving));
  serves->check();
}

void server::stop(duration grace) noexcept { state_->state->stop(grace); }

bool server::is_stopping() const noexcept { return state_->state->is_stopping(); }

ip::tcp::endpoint server::endpoint(std::size_t index) const {
  return state_->state->endpoint(index);
}

server_stats server::stats() const noexcept { return state_->state->stats(); }

}  // namespace beck::http
