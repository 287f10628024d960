// SPDX-License-Identifier: BSL-1.0
// The properties of a file: its kind, size, time of modification and identity.
#pragma once

#include <cstdint>

namespace beck {

/// The kind of a file.
enum class file_kind : std::uint8_t {
  unknown,           ///< in a listing: the file system does not tell; ask for the status
  regular,           ///< a file with bytes
  directory,         ///< a directory
  symbolic_link,     ///< only in listings: everything else follows links
  character_device,  ///< a terminal, /dev/null
  block_device,      ///< a disk
  pipe,              ///< a named pipe
  socket,            ///< a UNIX socket
};

/// The properties of a file. Source: stat(2), statx(2).
struct file_status {
  /// The size; 0 for devices, without meaning for directories. The size of a file that the kernel
  /// generates is not its length: it is 0 in procfs, and 4,096 bytes in sysfs.
  std::uint64_t bytes = 0;
  std::uint64_t stored_bytes = 0;  ///< on the device; 0 too if the kernel generates the contents
  std::int64_t modified_ns = 0;    ///< of the contents, in ns since 1970-01-01 00:00 UTC
  std::uint64_t device = 0;        ///< identifies the file together with `inode`
  std::uint64_t inode = 0;         ///< the file's number on its device
  std::uint32_t links = 0;         ///< its names
  std::uint32_t permissions = 0;   ///< as chmod(2) takes them: 0 to 07777
  file_kind kind = file_kind::unknown;
};

}  // namespace beck
