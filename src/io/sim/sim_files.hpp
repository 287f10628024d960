// SPDX-License-Identifier: BSL-1.0
// The disk of a simulated host: files by path in memory, each with the contents of the page cache
// and of the device. A host that loses its power keeps everything that was synced. Of each later
// change the device has nothing, all, or the first sectors, as drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/system/system.hpp"

namespace beck::detail {

class sim_faults;
class sim_host;
class sim_random;

/// Returns the name of the directory at `path`: with one slash at its end; "" for "." and "./".
inline std::string directory_name(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  if (path == ".") return {};
  return path == "/" ? std::string(path) : std::string(path) + '/';
}

/// The files of a host. Thread: one. Results as in system.hpp. A path is only a name. The
/// directories are the parts of the names before their slashes: they exist as long as a file is in
/// them, and are written with the slash at their end; "" is the one of relative names.
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
  /// Opens a file or directory relative to a directory; `resolve` are RESOLVE_ flags.
  int open_in(int directory, std::string_view path, unsigned flags, unsigned resolve);
  int status(int fd, file_status& status) const;
  /// Writes directory_records of the entries behind those that were read before, by name.
  std::ptrdiff_t list(int fd, char* records, std::size_t bytes, bool from_begin);
  std::ptrdiff_t read(int fd, const io_vector* parts, std::size_t count, std::uint64_t offset);
  std::ptrdiff_t write(int fd, const io_vector* parts, std::size_t count, std::uint64_t offset);
  int sync(int fd);
  int resize(int fd, std::uint64_t bytes);
  /// Gives a file another name, and removes the file that had it. The device has this, and a
  /// removal, at once; a file that was never synced may still lose its name.
  int rename(std::string_view from, std::string_view to);
  int remove(std::string_view path);
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
    bool is_directory = false;
    std::uint64_t number = 0;
    std::int64_t modified_ns = 0;
  };
  struct opened {
    std::shared_ptr<file> what;
    unsigned flags = 0;
    std::string name;  // of a directory, with its slash
    std::string last;  // the last entry that list() has written
  };
  /// What a path leads to: the name of a file, or of a directory with its slash.
  struct place {
    int error = 0;
    std::string name;
    bool must_be_directory = false;
  };

  opened* find(int fd) noexcept;
  bool is_directory(std::string_view name) const noexcept;
  place resolve(const std::string& from, std::string_view path, unsigned limits) const;
  int open_name(std::string_view name, unsigned flags);
  int open_directory(std::string name, unsigned flags);
  int install(opened what);
  void note_modified(file& f) noexcept;
  static void apply(std::vector<char>& data, const change& c, std::size_t bytes);
  std::uint64_t used() const noexcept;
  sim_faults& faults() noexcept;

  sim_host& host_;
  std::uint64_t capacity_ = UINT64_MAX;
  std::map<std::string, std::shared_ptr<file>, std::less<>> files_;
  std::vector<opened> open_;   // by number
  std::uint64_t created_ = 0;  // files, since the host exists
};

}  // namespace beck::detail
