// SPDX-License-Identifier: BSL-1.0
// One switch, no default: a new call does not compile until it has a case here.
#include "io/op/perform.hpp"

#include <cerrno>

#include <fcntl.h>

namespace beck::detail {
namespace {

bool is_lost_write(int result) noexcept {
  return result == -EIO || result == -ENOSPC || result == -EDQUOT;
}

/// Returns whether the alignment of a direct transfer explains why the kernel refused it.
bool is_misaligned(const file_operation& op) noexcept {
  const descriptor& d = *op.target;
  if (d.memory_alignment == 0 || !is_file_transfer(op.call)) return false;
  const std::uint64_t memory = d.memory_alignment;
  const std::uint64_t offset = d.offset_alignment;
  const auto wrong = [&](const void* data, std::size_t bytes) {
    return reinterpret_cast<std::uintptr_t>(data) % memory != 0 || bytes % offset != 0;
  };
  if ((op.offset + op.transferred) % offset != 0) return true;
  if (!is_vector(op.call)) {
    return wrong(static_cast<const char*>(op.address) + op.transferred, bytes_left(op));
  }
  for (std::size_t i = 0; i < op.length; ++i) {
    if (wrong(parts_of_file(op)[i].data, parts_of_file(op)[i].bytes)) return true;
  }
  return false;
}

/// Opens the file of a path and reads its status. Returns the descriptor number.
int find_file(system& sys, status_operation& op, unsigned flags) noexcept {
  const int fd = sys.open_in(op.target->fd, static_cast<const char*>(op.address), flags,
                             op.creation_mode, op.resolve);
  if (fd < 0) return fd;
  const int error = sys.read_status(fd, op.status, (op.resolve & resolve_cached) != 0);
  if (error == 0) return fd;
  sys.close(fd);
  return error;
}

int perform_status_in(system& sys, status_operation& op) noexcept {
  const int fd = find_file(sys, op, O_PATH | O_CLOEXEC);
  if (fd < 0) return fd;
  sys.close(fd);
  return 0;
}

}  // namespace

std::ptrdiff_t perform_file(system& sys, file_operation& op) noexcept {
  const int fd = op.target->fd;
  const std::uint64_t at = op.offset + op.transferred;
  switch (op.call) {
    case file_call::read:
      return sys.read_at(fd, static_cast<char*>(op.address) + op.transferred,
                         op.length - op.transferred, at);
    case file_call::write:
      return sys.write_at(fd, static_cast<const char*>(op.address) + op.transferred,
                          op.length - op.transferred, at);
    case file_call::read_vector:
      return sys.read_vector_at(fd, parts_of_file(op), op.length, at);
    case file_call::write_vector:
      return sys.write_vector_at(fd, parts_of_file(op), op.length, at);
    case file_call::sync_all:
      return sys.sync_file(fd, false);
    case file_call::sync_data:
      return sys.sync_file(fd, true);
    case file_call::resize:
      return sys.resize_file(fd, op.offset);
    case file_call::open:
      return sys.open_file(static_cast<const char*>(op.address), static_cast<unsigned>(op.length),
                           op.creation_mode);
    case file_call::open_in:
      return find_file(sys, static_cast<status_operation&>(op), static_cast<unsigned>(op.length));
    case file_call::status:
      return sys.read_status(fd, static_cast<status_operation&>(op).status, false);
    case file_call::status_in:
      return perform_status_in(sys, static_cast<status_operation&>(op));
    case file_call::list:
      return sys.list_directory(fd, op.address, op.length, op.creation_mode != 0);
  }
  return -EOPNOTSUPP;
}

std::ptrdiff_t perform_cached(system& sys, const file_operation& op) noexcept {
  const std::uint64_t at = op.offset + op.transferred;
  if (is_vector(op.call)) return sys.read_cached(op.target->fd, parts_of_file(op), op.length, at);
  const io_vector whole{static_cast<char*>(op.address) + op.transferred,
                        op.length - op.transferred};
  return sys.read_cached(op.target->fd, &whole, 1, at);
}

int refused_offset(const file_operation& op) noexcept {
  return op.offset > INT64_MAX ? -EINVAL : 0;
}

std::uint64_t position_of(system& sys, descriptor& d) noexcept {
  if (d.at_end) {
    const std::int64_t bytes = sys.file_size(d.fd);
    if (bytes >= 0) d.position = static_cast<std::uint64_t>(bytes);
    d.at_end = false;
  }
  return d.position;
}

void move_position(const file_operation& op) noexcept {
  descriptor& d = *op.target;
  d.at_end = d.appends && op.transferred != 0 && !is_file_read(op.call);
  d.position = op.offset + op.transferred;
}

std::size_t bytes_left(const file_operation& op) noexcept {
  if (!is_file_transfer(op.call)) return 0;
  if (!is_vector(op.call)) return op.length - op.transferred;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < op.length; ++i) bytes += parts_of_file(op)[i].bytes;
  return bytes;
}

void file_vector_transfer::drop(std::size_t bytes) noexcept {
  std::size_t first = 0;
  while (first < length && bytes >= parts_[first].bytes) bytes -= parts_[first++].bytes;
  for (std::size_t i = first; i < length; ++i) parts_[i - first] = parts_[i];
  length -= first;
  if (length == 0) return;
  parts_[0].data = static_cast<char*>(parts_[0].data) + bytes;
  parts_[0].bytes -= bytes;
}

int result_of_call(file_operation& op, std::ptrdiff_t r) noexcept {
  int result = r < 0 ? static_cast<int>(r) : 0;
  switch (op.call) {
    case file_call::read:
    case file_call::read_vector:
    case file_call::write:
    case file_call::write_vector:
      if (result == -EINVAL && is_misaligned(op)) return misaligned_result;
      if (r == 0) return is_file_read(op.call) ? eof_result : -EIO;  // bytes were asked for
      if (r < 0) return result;
      op.transferred += static_cast<std::size_t>(r);
      if (is_vector(op.call)) {
        static_cast<file_vector_transfer&>(op).drop(static_cast<std::size_t>(r));
      }
      return 0;
    case file_call::sync_all:
    case file_call::sync_data:
      // Data that could not be written is gone from memory, and the kernel reports that only once.
      if (is_lost_write(result)) op.target->sync_error = result;
      return op.target->sync_error != 0 ? op.target->sync_error : result;
    case file_call::list:
      return r == 0 ? eof_result : static_cast<int>(r);
    case file_call::open_in:
      return static_cast<int>(r);
    case file_call::resize:
    case file_call::open:
    case file_call::status:
    case file_call::status_in:
      break;
  }
  return result;
}

}  // namespace beck::detail
