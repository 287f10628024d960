// SPDX-License-Identifier: BSL-1.0
// detail::noncopyable: no part of Asio's interface, but programs derive from it.
#pragma once

#include <beck/asio/config.hpp>

BECK_ASIO_BEGIN

namespace detail {

/// A base of classes that are not copied.
class noncopyable {
 public:
  noncopyable(const noncopyable&) = delete;
  noncopyable& operator=(const noncopyable&) = delete;

 protected:
  noncopyable() = default;
  ~noncopyable() = default;
};

}  // namespace detail

using detail::noncopyable;

BECK_ASIO_END
