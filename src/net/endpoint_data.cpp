// SPDX-License-Identifier: BSL-1.0
//
// The bounds of a sockaddr of any family.
#include <sys/socket.h>

#include <beck/base/error.hpp>
#include <beck/detail/endpoint_data.hpp>
#include <cstring>

namespace beck::detail {

static_assert(endpoint_data::capacity() == sizeof(sockaddr_storage));
static_assert(alignof(endpoint_data) >= alignof(sockaddr_storage));

endpoint_data::endpoint_data(const void* data, std::size_t size) {
  resize(size);
  if (size != 0) std::memcpy(bytes_, data, size);
}

void endpoint_data::resize(std::size_t size) {
  if (size > capacity()) throw_error(error::invalid_argument, "endpoint_data::resize");
  size_ = size;
}

int endpoint_data::family() const noexcept {
  sa_family_t family = AF_UNSPEC;
  if (size_ >= sizeof family) std::memcpy(&family, bytes_, sizeof family);
  return family;
}

}  // namespace beck::detail
