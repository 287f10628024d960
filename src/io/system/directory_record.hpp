// SPDX-License-Identifier: BSL-1.0
// The records that a system writes for the entries of a directory: those of getdents64(2), one
// behind the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <beck/io/file_status.hpp>

namespace beck::detail {

/// Reads the record at `data`: an inode, an opaque position, the size of the record, the type and
/// the name with its NUL.
class directory_record {
 public:
  static constexpr std::size_t name_at = 19;
  static constexpr std::size_t size_at = 16;
  static constexpr std::size_t type_at = 18;

  explicit directory_record(const char* data) noexcept : data_(data) {}

  std::uint64_t inode() const noexcept {
    std::uint64_t number;
    std::memcpy(&number, data_, sizeof number);
    return number;
  }
  std::size_t bytes() const noexcept {
    std::uint16_t size;
    std::memcpy(&size, data_ + size_at, sizeof size);
    return size;
  }
  const char* name() const noexcept { return data_ + name_at; }
  /// Returns whether this is "." or "..".
  bool is_dots() const noexcept {
    return std::strcmp(name(), ".") == 0 || std::strcmp(name(), "..") == 0;
  }
  /// Returns the kind: the bits of st_mode that tell it, shifted down by 12 (DT_ of readdir(3)).
  file_kind kind() const noexcept { return kind_of(static_cast<unsigned char>(data_[type_at])); }

  /// Returns the kind for a DT_ value.
  static file_kind kind_of(unsigned type) noexcept {
    switch (type) {
      case 1:
        return file_kind::pipe;
      case 2:
        return file_kind::character_device;
      case 4:
        return file_kind::directory;
      case 6:
        return file_kind::block_device;
      case 8:
        return file_kind::regular;
      case 10:
        return file_kind::symbolic_link;
      case 12:
        return file_kind::socket;
      default:
        return file_kind::unknown;
    }
  }

 private:
  const char* data_;
};

/// Returns whether the `bytes` bytes of records at `data` have an entry besides "." and "..".
inline bool has_entries(const char* data, std::size_t bytes) noexcept {
  for (std::size_t at = 0; at < bytes; at += directory_record(data + at).bytes()) {
    if (!directory_record(data + at).is_dots()) return true;
  }
  return false;
}

}  // namespace beck::detail
