// SPDX-License-Identifier: BSL-1.0
// The disk of a simulated host: files by path in memory, each with the contents of the page cache
// and of the device. A host that loses its power keeps everything that was synced. Of each later
// change the device has nothing, all, or the first sectors, as drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/system/system.hpp"

namespace beck::detail {

class sim_faults;
class sim_host;
class sim_random;

/// The files of a host. Thread: one. Results as in system.hpp. There are no directories: a path is
/// only a name.
class sim_files {
 public:
  /// The first descriptor number of files.
  static constexpr int fd_first = 1'000'000;
  static constexpr std::size_t open_max = 65'536;
  static constexpr std::size_t sector_bytes = 512;
  static constexpr std::uint64_t file_bytes_max = std::uint64_t{1} << 32;
  static constexpr std::uint32_t direct_bytes = 512;

  explicit sim_files(sim_host& host) noexcept : host_(host) {}
  sim_files(const sim_files&) = delete;
  sim_files& operator=(const sim_files&) = delete;

  static bool owns(int fd) noexcept { return fd >= fd_first; }

  int open(const char* path, unsigned flags);
  int close(int fd) noexcept;
  std::ptrdiff_t read(int fd, const io_vector* parts, std::size_t count, std::uint64_t offset);
  std::ptrdiff_t write(int fd, const io_vector* parts, std::size_t count, std::uint64_t offset);
  int sync(int fd);
  int resize(int fd, std::uint64_t bytes);
  std::int64_t size(int fd) const noexcept;
  int examine(int fd, file_facts& facts) const noexcept;
  /// Returns whether the file was opened for direct transfers.
  bool is_direct(int fd) const noexcept;

  /// Sets the number of bytes that all files together may have.
  void set_capacity(std::uint64_t bytes) noexcept { capacity_ = bytes; }
  /// Cuts the power: closes all files and drops unsynced changes as `fate` decides.
  void crash(sim_random& fate);

 private:
  /// A change that the device may not have yet: bytes at an offset, or a new size, which is then
  /// `offset`.
  struct change {
    std::uint64_t offset;
    std::vector<char> bytes;
    bool resizes;
  };
  struct file {
    std::vector<char> data;    // the contents that programs see
    std::vector<char> stored;  // the contents that the device certainly has
    std::vector<change> unsynced;
    bool is_stored = false;  // the name is on the device
  };
  struct opened {
    std::shared_ptr<file> what;
    unsigned flags = 0;
  };

  opened* find(int fd) noexcept;
  static void apply(std::vector<char>& data, const change& c, std::size_t bytes);
  std::uint64_t used() const noexcept;
  sim_faults& faults() noexcept;

  sim_host& host_;
  std::uint64_t capacity_ = UINT64_MAX;
  std::map<std::string, std::shared_ptr<file>, std::less<>> files_;
  std::vector<opened> open_;  // by number
};

}  // namespace beck::detail
