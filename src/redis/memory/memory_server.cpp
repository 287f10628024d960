// SPDX-License-Identifier: BSL-1.0
// The public face: observers look at database 0, with the time of the context.
#include <beck/redis/memory_server.hpp>

#include <memory>
#include <stdexcept>
#include <string>

#include "redis/memory/memory_hub.hpp"
#include "redis/protocol/number_text.hpp"

namespace beck::redis {
namespace detail {

struct memory_server_handle {
  std::shared_ptr<memory_hub> hub;
};

}  // namespace detail

namespace {

template <class Endpoint>
detail::memory_server_handle* start(io_context& context, const Endpoint& at,
                                    const memory_server_options& how) {
  auto handle = std::make_unique<detail::memory_server_handle>();
  handle->hub = std::make_shared<detail::memory_hub>(context, how);
  handle->hub->listen(at);
  return handle.release();
}

/// Returns the entry of a key in database 0, nullptr if there is none.
detail::memory_entry* find(const detail::memory_server_handle& handle, std::string_view key) {
  handle.hub->read_clock();
  return handle.hub->engine().store().find(0, key);
}

const std::string* find_text(const detail::memory_server_handle& handle, std::string_view key) {
  const detail::memory_entry* const entry = find(handle, key);
  if (entry == nullptr) return nullptr;
  const auto* const text = std::get_if<std::string>(&entry->value);
  if (text == nullptr)
    throw std::invalid_argument("the key " + std::string(key) + " does not hold a string");
  return text;
}

}  // namespace

memory_server::memory_server(io_context& context, std::uint16_t port,
                             const memory_server_options& how)
    : memory_server(context, ip::tcp::endpoint(ip::tcp::v4(), port), how) {}

memory_server::memory_server(io_context& context, const ip::tcp::endpoint& at,
                             const memory_server_options& how)
    : handle_(start(context, at, how)) {}

memory_server::memory_server(io_context& context, const local::stream_protocol::endpoint& at,
                             const memory_server_options& how)
    : handle_(start(context, at, how)) {}

memory_server::~memory_server() {
  close();
  delete handle_;
}

ip::tcp::endpoint memory_server::endpoint() const noexcept { return handle_->hub->endpoint(); }

void memory_server::close() noexcept { handle_->hub->close(); }

bool memory_server::exists(std::string_view key) const { return find(*handle_, key) != nullptr; }

long long memory_server::integer(std::string_view key) const {
  const std::string* const text = find_text(*handle_, key);
  std::int64_t number = 0;
  if (text != nullptr && detail::read_integer(*text, number).is_bad)
    throw std::invalid_argument("the key " + std::string(key) + " does not hold an integer");
  return number;
}

std::string_view memory_server::text(std::string_view key) const {
  const std::string* const text = find_text(*handle_, key);
  return text != nullptr ? std::string_view(*text) : std::string_view();
}

std::uint64_t memory_server::commands() const noexcept { return handle_->hub->engine().commands(); }

std::size_t memory_server::connections() const noexcept { return handle_->hub->connections(); }

void memory_server::cut() noexcept { handle_->hub->cut(); }

void memory_server::pause() noexcept { handle_->hub->pause(true); }

void memory_server::resume() noexcept { handle_->hub->pause(false); }

void memory_server::become_replica(std::string_view host, std::uint16_t port) {
  handle_->hub->engine().replicate({std::string(host), port});
}

void memory_server::become_primary() noexcept { handle_->hub->engine().replicate({}); }

void memory_server::fail_next(std::string_view name, std::string_view error, std::size_t times) {
  handle_->hub->engine().fail_next(name, error, times);
}

void memory_server::cut_after(std::size_t bytes, std::size_t times) noexcept {
  handle_->hub->cut_after(bytes, times);
}

void memory_server::set_hook(detail::command_hook hook) noexcept {
  handle_->hub->engine().on_command(std::move(hook));
}

}  // namespace beck::redis
