// SPDX-License-Identifier: BSL-1.0
// Registrations of buffers. The driver reads the table of a registration as long as it lasts.
#include <beck/io/registered_buffer.hpp>

#include <vector>

#include <beck/base/assert.hpp>
#include <beck/detail/vector_operation.hpp>

#include "io/loop/io_loop.hpp"
#include "io/loop/loop_access.hpp"

namespace beck::detail {

struct registered_buffers::state {
  io_loop* loop;
  std::vector<mutable_registered_buffer> buffers;
  std::vector<io_vector> parts;
  bool in_kernel = false;
};

namespace {
constexpr std::size_t buffers_max = 16'384;  // the limit of the kernel
}

registered_buffers::registered_buffers(const any_io_executor& where, std::size_t count) {
  auto made = std::make_unique<state>();
  made->loop = &loop_of(where);
  made->buffers.resize(count);
  made->parts.resize(count);
  made->loop->count_object(1);
  state_ = made.release();
}

void registered_buffers::set(std::size_t i, mutable_buffer memory) noexcept {
  const auto number = static_cast<std::uint16_t>(i < buffers_max ? i + 1 : 0);
  state_->buffers[i] = {memory, registered_buffer_id(number)};
  state_->parts[i] = {memory.data(), memory.size()};
}

void registered_buffers::enroll() noexcept {
  if (size() == 0 || size() > buffers_max) return;
  state_->loop->as_runner([this](io_loop& loop) {
    const auto count = static_cast<unsigned>(size());
    state_->in_kernel = loop.drv().register_buffers(state_->parts.data(), count) == 0;
  });
}

registered_buffers::~registered_buffers() {
  if (state_ == nullptr) return;
  const auto leave = [](io_loop& loop) { loop.drv().unregister_buffers(); };
  const bool left = !state_->in_kernel || state_->loop->as_runner(leave);
  BECK_ASSERT(left || state_->loop->in_doubt(),
              "a registration of buffers was ended while another thread runs its context");
  state_->loop->count_object(-1);
  delete state_;
}

std::size_t registered_buffers::size() const noexcept {
  return state_ == nullptr ? 0 : state_->buffers.size();
}

registered_buffers::const_iterator registered_buffers::begin() const noexcept {
  return state_ == nullptr ? nullptr : state_->buffers.data();
}

const mutable_registered_buffer& registered_buffers::at(std::size_t i) const noexcept {
  BECK_ASSERT(i < size(), "no registered buffer has this index");
  return begin()[i];
}

bool registered_buffers::takes_effect() const noexcept {
  return state_ != nullptr && state_->in_kernel;
}

}  // namespace beck::detail
