// SPDX-License-Identifier: BSL-1.0
// Directories of simulated disks: the way of a path from one, the properties of files, listings.
#include "io/sim/sim_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>

#include "io/sim/sim_faults.hpp"
#include "io/system/directory_record.hpp"

namespace beck::detail {
namespace {

constexpr std::size_t path_bytes_max = 4095;
constexpr std::size_t name_bytes_max = 255;
constexpr unsigned resolve_beneath = 0x08;

enum : unsigned char { type_directory = 4, type_regular = 8 };  // DT_ of readdir(3)

/// Returns a number for a directory, which has none of its own (FNV-1a). Those of files are small.
std::uint64_t number_of(std::string_view directory) noexcept {
  std::uint64_t number = 0xcbf29ce484222325;
  for (const char c : directory) {
    number = (number ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return number | std::uint64_t{1} << 63;
}

/// Removes the last part of the name of a directory; the roots have none.
void go_up(std::string& directory) {
  if (directory.size() <= 1) return;
  directory.pop_back();
  const std::size_t slash = directory.rfind('/');
  directory.erase(slash == std::string::npos ? 0 : slash + 1);
}

/// Writes a record; returns its size, or 0 if there is no room.
std::size_t write_record(char* to, std::size_t room, std::string_view name, std::uint64_t number,
                         unsigned char type) noexcept {
  constexpr std::size_t alignment = 8;
  const std::size_t bytes =
      (directory_record::name_at + name.size() + alignment) / alignment * alignment;
  if (bytes > room) return 0;
  std::memset(to, 0, bytes);
  const auto size = static_cast<std::uint16_t>(bytes);
  std::memcpy(to, &number, sizeof number);
  std::memcpy(to + directory_record::size_at, &size, sizeof size);
  to[directory_record::type_at] = static_cast<char>(type);
  std::memcpy(to + directory_record::name_at, name.data(), name.size());
  return bytes;
}

}  // namespace

bool sim_files::is_directory(std::string_view name) const noexcept {
  if (name.empty() || name == "/") return true;
  const auto at = files_.lower_bound(name);
  return at != files_.end() && at->first.starts_with(name);
}

/// Follows `path` from the directory `from`, part by part as the kernel does.
sim_files::place sim_files::resolve(const std::string& from, std::string_view path,
                                    unsigned limits) const {
  const bool beneath = (limits & resolve_beneath) != 0;
  if (path.empty()) return {-ENOENT, {}, false};
  if (path.size() > path_bytes_max) return {-ENAMETOOLONG, {}, false};
  if (path.front() == '/' && beneath) return {-EXDEV, {}, false};
  place at{0, path.front() == '/' ? std::string("/") : from, true};
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    const bool slash_at_end = slash + 1 == path.size();
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (part.empty() || part == ".") {
      at.must_be_directory = true;
      continue;
    }
    if (!at.name.empty() && at.name.back() != '/') {  // the part before this one
      if (!is_directory(at.name + '/')) {
        return {files_.contains(at.name) ? -ENOTDIR : -ENOENT, {}, false};
      }
      at.name += '/';
    }
    if (part.size() > name_bytes_max) return {-ENAMETOOLONG, {}, false};
    at.must_be_directory = part == ".." || slash_at_end;
    if (part != "..") {
      at.name += part;
    } else if (at.name == from && beneath) {
      return {-EXDEV, {}, false};
    } else {
      go_up(at.name);
    }
  }
  return at;
}

int sim_files::open_directory(std::string name, unsigned flags) {
  if ((flags & (O_PATH | O_DIRECTORY)) == 0 && (flags & (O_CREAT | O_ACCMODE)) != 0) return -EISDIR;
  auto what = std::make_shared<file>();
  what->is_directory = true;
  what->number = number_of(name);
  return install({std::move(what), flags, std::move(name), {}});
}

int sim_files::open_in(int directory, std::string_view path, unsigned flags, unsigned limits) {
  const opened* const o = find(directory);
  if (o == nullptr) return -EBADF;
  if (!o->what->is_directory) return -ENOTDIR;
  place at = resolve(o->name, path, limits);
  if (at.error != 0) return at.error;
  const bool named = !at.name.empty() && at.name.back() != '/';
  if (named && files_.contains(at.name)) {
    return at.must_be_directory ? -ENOTDIR : open_name(at.name, flags);
  }
  std::string name = named ? at.name + '/' : at.name;
  if (is_directory(name)) return open_directory(std::move(name), flags);
  if (at.must_be_directory) return (flags & O_CREAT) != 0 ? -EISDIR : -ENOENT;
  return open_name(at.name, flags);
}

int sim_files::status(int fd, file_status& status) const {
  const opened* const o = const_cast<sim_files*>(this)->find(fd);
  if (o == nullptr) return -EBADF;
  status = file_status();
  const bool directory = o->what->is_directory;
  status.kind = directory ? file_kind::directory : file_kind::regular;
  status.permissions = directory ? 0755 : 0644;
  status.links = 1;
  status.inode = o->what->number;
  status.device = 1;
  status.bytes = status.stored_bytes = o->what->data.size();
  status.modified_ns = o->what->modified_ns;
  if (!directory) return 0;
  for (const auto& [name, f] : files_) {  // that of the newest file in it
    if (name.starts_with(o->name)) {
      status.modified_ns = std::max(status.modified_ns, f->modified_ns);
    }
  }
  return 0;
}

std::ptrdiff_t sim_files::list(int fd, char* records, std::size_t bytes, bool from_begin) {
  opened* const o = find(fd);
  if (o == nullptr || (o->flags & O_PATH) != 0) return -EBADF;
  if (!o->what->is_directory) return -ENOTDIR;
  if (faults().strikes(sim_fault::device_error, &host_)) return -EIO;
  if (from_begin) o->last.clear();
  std::size_t filled = 0;
  for (;;) {
    // The next name behind the last entry and all that is in it.
    std::string behind = o->name + o->last;
    auto at = o->last.empty() ? files_.lower_bound(behind) : files_.upper_bound(behind);
    if (!o->last.empty() && o->last.back() == '/') {
      behind.back() = '/' + 1;
      at = files_.lower_bound(behind);
    }
    if (at == files_.end() || !at->first.starts_with(o->name)) break;
    const std::string_view rest = std::string_view(at->first).substr(o->name.size());
    if (rest.empty() || rest.front() == '/') {  // no entry: an absolute name, in the directory ""
      o->last = rest;
      continue;
    }
    const std::size_t slash = rest.find('/');
    const std::string_view name = rest.substr(0, slash);
    const bool directory = slash != std::string_view::npos;
    const std::uint64_t number =
        directory ? number_of(o->name + std::string(name) + '/') : at->second->number;
    const std::size_t written = write_record(records + filled, bytes - filled, name, number,
                                             directory ? type_directory : type_regular);
    if (written == 0) return filled != 0 ? static_cast<std::ptrdiff_t>(filled) : -EINVAL;
    filled += written;
    o->last = std::string(name) + (directory ? "/" : "");
  }
  return static_cast<std::ptrdiff_t>(filled);
}

}  // namespace beck::detail
