// SPDX-License-Identifier: BSL-1.0
// The synchronous functions of files, which run on the caller's thread.
#include <beck/file/file_object.hpp>

#include <cerrno>
#include <cstring>

#include <fcntl.h>

#include <beck/base/assert.hpp>

#include "file/open_calls.hpp"
#include "io/loop/io_loop.hpp"
#include "io/op/perform.hpp"

namespace beck {
using namespace detail;
namespace {

constexpr std::size_t path_bytes_max = 4095;  // PATH_MAX less its NUL

system& sys_of(const descriptor& d) noexcept { return d.loop->sys(); }

}  // namespace

unsigned detail::open_flags_of(file_object::flags how) noexcept {
  struct pair {
    file_object::flags ours;
    int theirs;
  };
  constexpr pair pairs[] = {
      {file_object::write_only, O_WRONLY},      {file_object::read_write, O_RDWR},
      {file_object::append, O_APPEND},          {file_object::create, O_CREAT},
      {file_object::exclusive, O_EXCL},         {file_object::truncate, O_TRUNC},
      {file_object::sync_all_on_write, O_SYNC}, {file_object::direct, O_DIRECT},
  };
  int flags = O_RDONLY | O_CLOEXEC;
  for (const pair& each : pairs) {
    if ((how & each.ours) != 0) flags |= each.theirs;
  }
  return static_cast<unsigned>(flags);
}

int detail::open_path(descriptor& d, std::string_view path, unsigned flags) noexcept {
  if (const int refused = openable(d); refused != 0) return refused;
  if (path.size() > path_bytes_max) return -ENAMETOOLONG;
  if (!path.empty() && std::memchr(path.data(), 0, path.size()) != nullptr) return -EINVAL;
  char text[path_bytes_max + 1];
  if (!path.empty()) std::memcpy(text, path.data(), path.size());
  text[path.size()] = 0;
  const int fd = sys_of(d).open_file(text, flags, file_object::creation_mode_default);
  if (fd < 0) return fd;
  d.loop->files().open(d, fd, flags);
  return 0;
}

file_action detail::open_action(descriptor& d, const char* path, unsigned flags) noexcept {
  file_action op(op_kind::file, file_call::open, &d, 0, const_cast<char*>(path), flags);
  op.creation_mode = file_object::creation_mode_default;
  if (&d != &d.loop->no_descriptor()) d.may_be_opening = true;
  return op;
}

error_code file_object::open(std::string_view path, flags how, error_code& ec) noexcept {
  descriptor& d = *slot_to_open();
  const object_use inside = use_of(d, "open");
  ec = make_error(open_path(d, path, open_flags_of(how)));
  return ec;
}

void file_object::open(std::string_view path, flags how) {
  error_code ec;
  open(path, how, ec);
  if (ec) throw_error(ec, "open", path);
}

file_action file_object::async_open(const char* path, flags how) noexcept {
  return open_action(*slot_to_open(), path, open_flags_of(how));
}

error_code file_object::assign(int handle, error_code& ec) noexcept {
  descriptor& d = *slot_to_open();
  const object_use inside = use_of(d, "assign");
  int result = openable(d);
  file_facts facts;
  if (result == 0) result = sys_of(d).examine_file(handle, facts);
  ec = make_error(result);
  if (ec) return ec;
  d.loop->files().open(d, handle, O_DIRECT | (facts.appends ? O_APPEND : 0U));  // perhaps direct
  return ec;
}

void file_object::assign(int handle) {
  error_code ec;
  assign(handle, ec);
  throw_if(ec, "assign");
}

std::uint64_t file_object::size(error_code& ec) const noexcept {
  const descriptor& d = *descriptor_;
  const std::int64_t bytes = d.fd < 0 ? -EBADF : sys_of(d).file_size(d.fd);
  ec = bytes < 0 ? make_error(static_cast<int>(bytes)) : error_code();
  return bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes);
}

std::uint64_t file_object::size() const {
  error_code ec;
  const std::uint64_t bytes = size(ec);
  throw_if(ec, "size");
  return bytes;
}

file_status file_object::status(error_code& ec) const noexcept {
  const descriptor& d = *descriptor_;
  file_status found;
  ec = make_error(d.fd < 0 ? -EBADF : sys_of(d).read_status(d.fd, found, false));
  return found;
}

file_status file_object::status() const {
  error_code ec;
  const file_status found = status(ec);
  throw_if(ec, "status");
  return found;
}

std::size_t file_object::read_cached(std::uint64_t offset, mutable_buffer to,
                                     error_code& ec) noexcept {
  const descriptor& d = *descriptor_;
  const io_vector whole{to.data(), to.size()};
  const std::ptrdiff_t got = d.fd < 0 ? -EBADF : sys_of(d).read_cached(d.fd, &whole, 1, offset);
  if (got < 0) ec = make_error(static_cast<int>(got));
  if (got >= 0) ec = got == 0 && to.size() != 0 ? error_code(error::eof) : error_code();
  return got < 0 ? 0 : static_cast<std::size_t>(got);
}

error_code file_object::resize(std::uint64_t bytes, error_code& ec) noexcept {
  file_action op = async_resize(bytes);
  call_now(op, ec);
  return ec;
}

void file_object::resize(std::uint64_t bytes) {
  error_code ec;
  resize(bytes, ec);
  throw_if(ec, "resize");
}

error_code file_object::sync_all(error_code& ec) noexcept {
  file_action op = async_sync_all();
  call_now(op, ec);
  return ec;
}

void file_object::sync_all() {
  error_code ec;
  sync_all(ec);
  throw_if(ec, "sync_all");
}

error_code file_object::sync_data(error_code& ec) noexcept {
  file_action op = async_sync_data();
  call_now(op, ec);
  return ec;
}

void file_object::sync_data() {
  error_code ec;
  sync_data(ec);
  throw_if(ec, "sync_data");
}

file_object::alignment file_object::direct_alignment() const noexcept {
  return {descriptor_->memory_alignment, descriptor_->offset_alignment};
}

/// Runs `op` as a system call on the calling thread; returns the number of bytes transferred.
std::size_t file_object::call_now(file_operation& op, error_code& ec) const noexcept {
  descriptor& d = *descriptor_;
  const object_use inside = use_of(d, name_of(op.kind), object_use::kind::beside_others);
  if (d.fd < 0) {
    ec = error::bad_descriptor;
    return 0;
  }
  const bool in_order = op.kind == op_kind::file_in_order;
  if (in_order) op.offset = position_of(sys_of(d), d);
  ec = make_error(refused_offset(op));
  if (ec || (is_file_transfer(op.call) && bytes_left(op) == 0)) return 0;
  const int result = result_of_call(op, perform_file(sys_of(d), op));
  if (in_order) move_position(op);
  ec = make_error(result);
  return op.transferred;
}

std::uint64_t file_object::seek_to(std::int64_t offset, seek_basis whence,
                                   error_code& ec) noexcept {
  descriptor& d = *descriptor_;
  const object_use inside = use_of(d, "seek");
  BECK_ASSERT(d.queue[direction_in].current == nullptr,
              "a stream_file was moved to another position while an operation is under way");
  std::int64_t base = 0;
  if (d.fd < 0) base = -EBADF;
  const std::uint64_t present = d.fd < 0 ? d.position : position_of(sys_of(d), d);
  if (base == 0 && whence == seek_cur) base = static_cast<std::int64_t>(present);
  if (base == 0 && whence == seek_end) base = sys_of(d).file_size(d.fd);
  std::int64_t position = 0;
  if (base < 0 || __builtin_add_overflow(base, offset, &position) || position < 0) {
    ec = make_error(base < 0 ? static_cast<int>(base) : -EINVAL);
    return present;
  }
  ec = error_code();
  d.position = static_cast<std::uint64_t>(position);
  return d.position;
}

}  // namespace beck
