// SPDX-License-Identifier: BSL-1.0
// Pipes and descriptors that were made elsewhere find their slots here.
#include <beck/detail/descriptor_stream.hpp>

#include <cstdio>

#include "io/loop/io_loop.hpp"

namespace beck::detail {

void descriptor_calls::open_pipe(descriptor& reading, descriptor& writing,
                                 error_code& ec) noexcept {
  const object_use inside = use_of(reading, "connect_pipe");
  const object_use inside_too = use_of(writing, "connect_pipe");
  ec = make_error(openable(reading));
  if (!ec) ec = make_error(openable(writing));
  if (ec) return;
  int ends[2];
  ec = make_error(reading.loop->sys().open_pipe(ends));
  if (ec) return;
  reading.loop->open_descriptor(reading, ends[0], descriptor_nature::pipe);
  writing.loop->open_descriptor(writing, ends[1], descriptor_nature::pipe);
}

void descriptor_calls::adopt(descriptor& d, int fd, error_code& ec) noexcept {
  const object_use inside = use_of(d, "assign");
  ec = make_error(openable(d));
  if (ec) return;
  const int nature = d.loop->sys().adopt_any(fd);
  ec = make_error(nature);
  if (!ec) d.loop->open_descriptor(d, fd, static_cast<descriptor_nature>(nature));
}

void descriptor_calls::adopt(descriptor& d, int fd) {
  error_code ec;
  adopt(d, fd, ec);
  if (!ec) return;
  char subject[96];
  const bool unfit = ec == error::no_permission;
  std::snprintf(subject, sizeof subject, "descriptor %d%s", fd,
                unfit ? ", which is a file, a directory or a disk and cannot be waited for" : "");
  throw_error(ec, "assign", text_view(subject));
}

}  // namespace beck::detail
