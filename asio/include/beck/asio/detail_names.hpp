// SPDX-License-Identifier: BSL-1.0
// Names of asio::detail that programs use, although they are no part of Asio's interface.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/net/socket_option.hpp>

BECK_ASIO_BEGIN

namespace detail {

/// The class templates of the options of sockets.
namespace socket_option {

template <int Level, int Name>
using boolean = beck::boolean_option<Level, Name>;
template <int Level, int Name>
using integer = beck::integer_option<Level, Name>;

}  // namespace socket_option

/// The number of buffers that one call of the system takes.
inline constexpr int max_iov_len = 1024;

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
