// SPDX-License-Identifier: BSL-1.0
// Calls on simulated files. The calls themselves take no time; asynchronous operations wait before
// the call is made (sim_jobs).
#include <cerrno>
#include <new>

#include <beck/detail/vector_operation.hpp>

#include "io/sim/sim_system.hpp"

namespace beck::detail {

template <class Action>
std::ptrdiff_t sim_system::on_files(sim_note what, int fd, Action&& action) noexcept {
  std::ptrdiff_t result = -EIO;
  if (is_alive()) {
    try {
      result = action(host_->files());
    } catch (const std::bad_alloc&) {
      result = -ENOMEM;
    }
  }
  world().note(*host_, what, fd, result);
  return result;
}

int sim_system::open_file(const char* path, unsigned flags, unsigned) noexcept {
  return static_cast<int>(on_files(sim_note::file_open, -1, [&](sim_files& files) {
    return std::ptrdiff_t{files.open(path, flags)};
  }));
}

int sim_system::close_file(int fd) noexcept {
  return static_cast<int>(on_files(
      sim_note::close, fd, [&](sim_files& files) { return std::ptrdiff_t{files.close(fd)}; }));
}

std::ptrdiff_t sim_system::read_at(int fd, void* data, std::size_t bytes,
                                   std::uint64_t offset) noexcept {
  const io_vector part{data, bytes};
  return read_vector_at(fd, &part, 1, offset);
}

std::ptrdiff_t sim_system::write_at(int fd, const void* data, std::size_t bytes,
                                    std::uint64_t offset) noexcept {
  const io_vector part{const_cast<void*>(data), bytes};
  return write_vector_at(fd, &part, 1, offset);
}

std::ptrdiff_t sim_system::read_vector_at(int fd, const io_vector* parts, std::size_t count,
                                          std::uint64_t offset) noexcept {
  return on_files(sim_note::file_read, fd,
                  [&](sim_files& files) { return files.read(fd, parts, count, offset); });
}

std::ptrdiff_t sim_system::write_vector_at(int fd, const io_vector* parts, std::size_t count,
                                           std::uint64_t offset) noexcept {
  return on_files(sim_note::file_write, fd,
                  [&](sim_files& files) { return files.write(fd, parts, count, offset); });
}

std::ptrdiff_t sim_system::read_cached(int, const io_vector*, std::size_t, std::uint64_t) noexcept {
  return -EAGAIN;  // every read takes time
}

int sim_system::open_in(int directory, const char* path, unsigned flags, unsigned,
                        unsigned resolve) noexcept {
  if ((resolve & resolve_cached) != 0) return -EAGAIN;  // every call takes time
  return static_cast<int>(on_files(sim_note::file_open, directory, [&](sim_files& files) {
    return std::ptrdiff_t{files.open_in(directory, path, flags, resolve)};
  }));
}

int sim_system::read_status(int fd, file_status& status, bool) noexcept {
  return static_cast<int>(on_files(sim_note::file_status, fd, [&](sim_files& files) {
    return std::ptrdiff_t{files.status(fd, status)};
  }));
}

std::ptrdiff_t sim_system::list_directory(int fd, void* records, std::size_t bytes,
                                          bool from_begin) noexcept {
  return on_files(sim_note::file_list, fd, [&](sim_files& files) {
    return files.list(fd, static_cast<char*>(records), bytes, from_begin);
  });
}

int sim_system::sync_file(int fd, bool) noexcept {
  return static_cast<int>(on_files(
      sim_note::file_sync, fd, [&](sim_files& files) { return std::ptrdiff_t{files.sync(fd)}; }));
}

int sim_system::resize_file(int fd, std::uint64_t bytes) noexcept {
  return static_cast<int>(on_files(sim_note::file_resize, fd, [&](sim_files& files) {
    return std::ptrdiff_t{files.resize(fd, bytes)};
  }));
}

int sim_system::rename_file(const char* from, const char* to) noexcept {
  return static_cast<int>(on_files(sim_note::file_rename, -1, [&](sim_files& files) {
    return std::ptrdiff_t{files.rename(from, to)};
  }));
}

int sim_system::remove_file(const char* path) noexcept {
  return static_cast<int>(on_files(sim_note::file_remove, -1, [&](sim_files& files) {
    return std::ptrdiff_t{files.remove(path)};
  }));
}

std::int64_t sim_system::file_size(int fd) noexcept {
  return is_alive() ? host_->files().size(fd) : -EIO;
}

void sim_system::direct_alignment(int fd, std::uint32_t& memory, std::uint32_t& offset) noexcept {
  memory = offset = host_->files().is_direct(fd) ? sim_files::direct_bytes : 0;
}

int sim_system::examine_file(int fd, file_facts& facts) noexcept {
  return is_alive() ? host_->files().examine(fd, facts) : -EIO;
}

// --- moving bytes inside the system: not supported, as on systems without these calls -------

std::ptrdiff_t sim_system::copy_range(int, std::uint64_t, int, std::uint64_t,
                                      std::size_t) noexcept {
  return -EOPNOTSUPP;
}

std::ptrdiff_t sim_system::send_to_file(int, std::uint64_t, int, std::uint64_t,
                                        std::size_t) noexcept {
  return -EOPNOTSUPP;
}

std::ptrdiff_t sim_system::splice_to_file(int, std::uint64_t, const int (&)[2], int, std::uint64_t,
                                          std::size_t) noexcept {
  return -EOPNOTSUPP;
}

std::ptrdiff_t sim_system::send_to_stream(int, std::uint64_t, int, std::size_t) noexcept {
  return -EOPNOTSUPP;
}

bool sim_system::is_in_memory(int, std::uint64_t, std::size_t) noexcept { return false; }

int sim_system::read_ahead(int, std::uint64_t, std::size_t, std::size_t) noexcept {
  return -EOPNOTSUPP;
}

int sim_system::find_data(int, std::uint64_t, std::uint64_t&, std::uint64_t&) noexcept {
  return -EOPNOTSUPP;
}

}  // namespace beck::detail
