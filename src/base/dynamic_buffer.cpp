// SPDX-License-Identifier: BSL-1.0
//
// The limits of a dynamic buffer, checked before the container is touched.
#include <beck/base/dynamic_buffer.hpp>
#include <stdexcept>
#include <string>
#include "base/fatal_call.hpp"

namespace beck {
using namespace detail;

void detail::throw_length_error(const char* what, std::size_t size, std::size_t more,
                                std::size_t size_max) {
  throw std::length_error(std::string(what) + ": " + std::to_string(size) + " + " +
                          std::to_string(more) + " bytes are over the limit of " +
                          std::to_string(size_max) + " bytes");
}

void dynamic_buffer_ref::resize(std::size_t n) const {
  const auto old = size();
  if (n > size_max_) throw_length_error("dynamic_buffer", old, n - old, size_max_);
  table_->resize(container_, n);
}

void dynamic_buffer_ref::grow(std::size_t n) const {
  const auto old = size();
  if (n > size_max_ - old) throw_length_error("dynamic_buffer", old, n, size_max_);
  table_->resize(container_, old + n);
}

void dynamic_buffer_ref::shrink(std::size_t n) const {
  const auto old = size();
  table_->resize(container_, n < old ? old - n : 0);
}

void dynamic_buffer_ref::consume(std::size_t n) const {
  const auto old = size();
  table_->consume(container_, n < old ? n : old);
}

}  // namespace beck
