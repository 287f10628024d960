// SPDX-License-Identifier: BSL-1.0
// The memory block behind results: a head, the addresses, room for entries, the two names.
#include <beck/net/resolver_results.hpp>

#include <cstring>
#include <new>

#include <beck/base/assert.hpp>
#include <beck/detail/ref_count.hpp>

namespace beck::ip {
using namespace detail;

struct name_answer::block {
  ref_count count;
  std::size_t addresses = 0;
  std::size_t host_bytes = 0;
  std::size_t service_bytes = 0;

  socket_address* at(std::size_t i) noexcept {
    return reinterpret_cast<socket_address*>(this + 1) + i;
  }
  char* entry_at(std::size_t i) noexcept {
    return reinterpret_cast<char*>(at(addresses)) + i * entry_bytes;
  }
  char* names() noexcept { return entry_at(addresses); }
};

name_answer::name_answer(const socket_address* addresses, std::size_t count, std::string_view host,
                         std::string_view service) {
  static_assert(sizeof(block) % alignof(socket_address) == 0);
  static_assert(sizeof(socket_address) % alignof(void*) == 0);
  const std::size_t bytes =
      sizeof(block) + count * (sizeof(socket_address) + entry_bytes) + host.size() + service.size();
  // Not from the block cache: threads of the pool allocate these blocks, and other threads free
  // them.
  block_ = ::new (::operator new(bytes)) block;
  block_->addresses = count;
  block_->host_bytes = host.size();
  block_->service_bytes = service.size();
  for (std::size_t i = 0; i < count; ++i) ::new (block_->at(i)) socket_address(addresses[i]);
  if (!host.empty()) std::memcpy(block_->names(), host.data(), host.size());
  if (!service.empty()) {
    std::memcpy(block_->names() + host.size(), service.data(), service.size());
  }
}

name_answer::name_answer(const name_answer& other) noexcept : block_(other.block_) {
  if (block_ != nullptr) block_->count.add();
}

name_answer::~name_answer() {
  if (block_ == nullptr || !block_->count.drop()) return;
  block_->~block();
  ::operator delete(block_);
}

std::size_t name_answer::size() const noexcept { return block_ != nullptr ? block_->addresses : 0; }

const socket_address& name_answer::address(std::size_t at) const noexcept {
  BECK_ASSERT(at < size(), "the results of a lookup have no address with this index");
  return *block_->at(at);
}

void* name_answer::entry_place(std::size_t at) const noexcept {
  BECK_ASSERT(at < size(), "the results of a lookup have no entry with this index");
  return block_->entry_at(at);
}

std::string_view name_answer::host() const noexcept {
  return block_ != nullptr ? std::string_view(block_->names(), block_->host_bytes)
                           : std::string_view();
}

std::string_view name_answer::service() const noexcept {
  if (block_ == nullptr) return {};
  return {block_->names() + block_->host_bytes, block_->service_bytes};
}

}  // namespace beck::ip
