// SPDX-License-Identifier: BSL-1.0
// Writes text for people to a file descriptor. The rest of a text is dropped if the descriptor
// returns an error, which includes EAGAIN of a non-blocking descriptor.
#include <unistd.h>
#include <cerrno>

#include <beck/detail/text_sink.hpp>

namespace beck::detail {

void text_sink::write_to_descriptor(void* self, text_view piece) {
  const int fd = static_cast<text_sink*>(self)->fd_;
  while (!piece.empty()) {
    const ssize_t written = ::write(fd, piece.data(), piece.size());
    if (written > 0) {
      piece.remove_prefix(static_cast<std::size_t>(written));
    } else if (written == 0 || errno != EINTR) {
      return;
    }
  }
}

}  // namespace beck::detail
