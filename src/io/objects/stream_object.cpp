// SPDX-License-Identifier: BSL-1.0
// Streams over a descriptor, above all their deadline, which is one entry of the timer queue,
// stored in the slot. When it expires, operations in flight are cancelled with error::timeout.
// Later operations test the flag that it sets, beside the one that they test anyway.
#include <cerrno>
#include <cstdio>
#include <new>

#include <beck/detail/descriptor_stream.hpp>
#include <beck/detail/stream_object.hpp>
#include <beck/io/byte_stream.hpp>

#include "io/loop/io_loop.hpp"
#include "io/op/op_table.hpp"

namespace beck {
using namespace detail;

void byte_stream::close() noexcept {
  error_code never;
  socket().close(never);
}

const any_io_executor& byte_stream::get_executor() noexcept { return socket().slot()->executor; }

void byte_stream::set_socket_option(int level, int name, const void* value, std::size_t bytes,
                                    error_code& ec) noexcept {
  const descriptor& d = *socket().slot();
  ec = make_error(d.fd < 0 ? -EBADF : d.loop->sys().set_option(d.fd, level, name, value, bytes));
}

namespace detail {

namespace {

/// Command that sets the deadline of a stream on the thread that runs the context. It frees itself.
/// It compares the generation because the slot may have a new owner by the time that it runs.
struct expiry_order : loop_command {
  expiry_order(descriptor& slot, std::int64_t at) noexcept
      : loop_command(&set_limit, this), d(&slot), generation(slot.generation), when(at) {}

  static void set_limit(void* self) noexcept {
    const expiry_order what = *static_cast<expiry_order*>(self);
    free_block(self);
    const descriptor_lock held(what.d->loop->core(), *what.d);
    if (what.d->generation == what.generation) what.d->loop->timers().expire_at(*what.d, what.when);
  }

  descriptor* d;
  std::uint32_t generation;
  std::int64_t when;
};

/// Sets the deadline of a stream: at once if the caller may run the loop, else by a command. Throws
/// std::bad_alloc if there is no room in the timer queue.
void set_limit(descriptor& d, std::int64_t when) {
  io_loop& loop = *d.loop;
  if (&d == &loop.no_descriptor()) return;
  const object_use inside = use_of(d, "expires");
  bool done = true;
  const auto set_here = [&](io_loop& l) {
    const descriptor_lock held(l.core(), d);
    done = l.timers().expire_at(d, when);
  };
  if (!loop.as_runner(set_here)) {
    loop.send_order(::new (allocate_block(sizeof(expiry_order))) expiry_order(d, when));
  }
  if (!done) throw std::bad_alloc();
}

}  // namespace

stream_object::peer_status stream_object::peer() const noexcept {
  if (descriptor_->fd < 0) return peer_status::gone;
  const int seen = descriptor_->loop->sys().poll(descriptor_->fd, poll_read_hang_up, INT64_MIN);
  if (seen <= 0) return peer_status::open;
  return seen == poll_read_hang_up ? peer_status::finished : peer_status::gone;
}

void_operation stream_object::async_wait_peer(peer_status status) noexcept {
  return {op_kind::wait_error, descriptor_, nullptr,
          status == peer_status::gone ? until_peer_gone : until_peer_finished};
}

void stream_object::expires_at(time_point at) { set_limit(*slot_to_open(), at.nanoseconds()); }

void stream_object::expires_after(duration after) {
  expires_at(time_point(duration(descriptor_->loop->sys().now())) + after);
}

void stream_object::expires_never() { expires_at(time_point::max()); }

std::size_t stream_object::available(error_code& ec) const noexcept { return readable_bytes(ec); }

std::size_t stream_object::available() const {
  error_code ec;
  const std::size_t bytes = available(ec);
  throw_if(ec, "available");
  return bytes;
}

// --- opening pipes and adopting descriptors -----------------------------------------------------

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
  reading.loop->descriptors().open(reading, ends[0], descriptor_nature::pipe);
  writing.loop->descriptors().open(writing, ends[1], descriptor_nature::pipe);
}

void descriptor_calls::adopt(descriptor& d, int fd, error_code& ec) noexcept {
  const object_use inside = use_of(d, "assign");
  ec = make_error(openable(d));
  if (ec) return;
  const int nature = d.loop->sys().adopt_any(fd);
  ec = make_error(nature);
  if (!ec) d.loop->descriptors().open(d, fd, static_cast<descriptor_nature>(nature));
}

void descriptor_calls::adopt(descriptor& d, int fd) {
  error_code ec;
  adopt(d, fd, ec);
  if (!ec) return;
  char subject[96];
  const bool unfit = ec == error::no_permission;
  std::snprintf(subject, sizeof subject, "descriptor %d%s", fd,
                unfit ? ", which is a directory or a disk and cannot be waited for" : "");
  throw_error(ec, "assign", subject);
}

}  // namespace detail

}  // namespace beck
