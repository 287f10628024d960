// SPDX-License-Identifier: BSL-1.0
// The hooks of handlers of before Asio 1.30, which older libraries forward, such as Boost.Beast of
// Boost 1.81. beck calls none of them: it asks the associated allocator and executor.
#pragma once

#include <cstddef>
#include <new>

#include <beck/asio/config.hpp>

BECK_ASIO_BEGIN

using asio_handler_allocate_is_deprecated = void*;
using asio_handler_deallocate_is_deprecated = void;
using asio_handler_invoke_is_deprecated = void;

/// Allocates `size` bytes.
inline asio_handler_allocate_is_deprecated asio_handler_allocate(std::size_t size, ...) {
  return ::operator new(size);
}
/// Frees them.
inline asio_handler_deallocate_is_deprecated asio_handler_deallocate(void* block, std::size_t,
                                                                     ...) {
  ::operator delete(block);
}
/// Calls the function.
template <class Function>
asio_handler_invoke_is_deprecated asio_handler_invoke(Function& function, ...) {
  function();
}
/// As above, a copy of it.
template <class Function>
asio_handler_invoke_is_deprecated asio_handler_invoke(const Function& function, ...) {
  Function copy(function);
  copy();
}

BECK_ASIO_END
