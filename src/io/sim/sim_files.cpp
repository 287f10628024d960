// SPDX-License-Identifier: BSL-1.0
// The calls on simulated files, and their state after a loss of power.
#include "io/sim/sim_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include <fcntl.h>

#include <beck/detail/vector_operation.hpp>

#include "io/sim/sim_world.hpp"

namespace beck::detail {
namespace {

std::size_t bytes_of(const io_vector* parts, std::size_t count) noexcept {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += parts[i].bytes;
  return bytes;
}

bool may_read(unsigned flags) noexcept { return (flags & O_ACCMODE) != O_WRONLY; }
bool may_write(unsigned flags) noexcept { return (flags & O_ACCMODE) != O_RDONLY; }

/// Returns whether offset, addresses and sizes are aligned for a direct transfer; otherwise it
/// fails with EINVAL.
bool is_aligned(unsigned flags, const io_vector* parts, std::size_t count,
                std::uint64_t offset) noexcept {
  if ((flags & O_DIRECT) == 0) return true;
  bool aligned = offset % sim_files::direct_bytes == 0;
  for (std::size_t i = 0; i < count; ++i) {
    using number = std::uintptr_t;  // lint: allow sim-pointer-order, only for its low bits
    const auto address = reinterpret_cast<number>(parts[i].data);
    aligned = aligned && (parts[i].bytes | address) % sim_files::direct_bytes == 0;
  }
  return aligned;
}

}  // namespace

sim_faults& sim_files::faults() noexcept { return host_.world().faults(); }

sim_files::opened* sim_files::find(int fd) noexcept {
  const auto index = static_cast<std::size_t>(fd - fd_first);
  return fd >= fd_first && index < open_.size() && open_[index].what ? &open_[index] : nullptr;
}

int sim_files::open(const char* path, unsigned flags) {
  const std::string_view name(path);
  if (name.empty()) return -ENOENT;
  if (files_.find(name) == files_.end()) {
    std::string directory = directory_name(name);
    if (is_directory(directory)) return open_directory(std::move(directory), flags);
    if (name.back() == '/') return (flags & O_CREAT) != 0 ? -EISDIR : -ENOENT;
  }
  return open_name(name, flags);
}

/// Opens the file with this name, or makes it.
int sim_files::open_name(std::string_view name, unsigned flags) {
  auto at = files_.find(name);
  if (at != files_.end() && (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return -EEXIST;
  if (at != files_.end() && (flags & O_DIRECTORY) != 0) return -ENOTDIR;
  if (at == files_.end() && (flags & O_CREAT) == 0) return -ENOENT;
  if (at == files_.end()) {
    auto made = std::make_shared<file>();
    made->number = ++created_;
    note_modified(*made);
    at = files_.emplace(name, std::move(made)).first;
  }
  const int fd = install({at->second, flags, {}, {}});
  file& f = *at->second;
  if (fd >= 0 && (flags & O_TRUNC) != 0 && may_write(flags) && !f.data.empty()) {
    f.unsynced.push_back({0, {}, true});
    f.data.clear();
    note_modified(f);
  }
  return fd;
}

/// Returns the number of a new descriptor.
int sim_files::install(opened what) {
  std::size_t slot = 0;
  while (slot < open_.size() && open_[slot].what) ++slot;
  if (slot == open_max) return -EMFILE;
  if (slot == open_.size()) open_.emplace_back();
  open_[slot] = std::move(what);
  return fd_first + static_cast<int>(slot);
}

/// Sets the time at which the contents were changed to now.
void sim_files::note_modified(file& f) noexcept { f.modified_ns = host_.date(); }

int sim_files::close(int fd) noexcept {
  opened* const o = find(fd);
  if (o == nullptr) return -EBADF;
  *o = opened();
  return 0;
}

std::ptrdiff_t sim_files::read(int fd, const io_vector* parts, std::size_t count,
                               std::uint64_t offset) {
  opened* const o = find(fd);
  if (o == nullptr || !may_read(o->flags)) return -EBADF;
  if (o->what->is_directory) return -EISDIR;
  if (!is_aligned(o->flags, parts, count, offset)) return -EINVAL;
  const std::vector<char>& data = o->what->data;
  if (offset >= data.size()) return 0;
  if (faults().strikes(sim_fault::device_error, &host_)) return -EIO;
  std::size_t left = std::min<std::size_t>(bytes_of(parts, count), data.size() - offset);
  if (left > 1 && faults().strikes(sim_fault::short_read, &host_)) {
    left -= static_cast<std::size_t>(faults().random().below(left - 1)) + 1;
  }
  const std::size_t moved = left;
  const char* from = data.data() + offset;
  for (std::size_t i = 0; i < count && left != 0; ++i) {
    const std::size_t bytes = std::min(left, parts[i].bytes);
    if (bytes != 0) std::memcpy(parts[i].data, from, bytes);
    from += bytes;
    left -= bytes;
  }
  return static_cast<std::ptrdiff_t>(moved);
}

std::ptrdiff_t sim_files::write(int fd, const io_vector* parts, std::size_t count,
                                std::uint64_t offset) {
  opened* const o = find(fd);
  if (o == nullptr || !may_write(o->flags)) return -EBADF;
  if (!is_aligned(o->flags, parts, count, offset)) return -EINVAL;
  file& f = *o->what;
  if ((o->flags & O_APPEND) != 0) offset = f.data.size();
  std::size_t left = bytes_of(parts, count);
  if (left == 0) return 0;
  if (offset >= file_bytes_max) return -EFBIG;
  if (faults().strikes(sim_fault::device_error, &host_)) return -EIO;
  if (faults().strikes(sim_fault::disk_full, &host_)) return -ENOSPC;
  const std::uint64_t others = used() - f.data.size();
  const std::uint64_t end_max = std::min(capacity_ - std::min(capacity_, others), file_bytes_max);
  if (offset >= end_max) return -ENOSPC;
  left = std::min<std::uint64_t>(left, end_max - offset);
  if (left > 1 && faults().strikes(sim_fault::short_write, &host_)) {
    left -= static_cast<std::size_t>(faults().random().below(left - 1)) + 1;
  }
  change c{offset, {}, false};
  c.bytes.reserve(left);
  for (std::size_t i = 0; i < count && left != 0; ++i) {
    const std::size_t bytes = std::min(left, parts[i].bytes);
    const char* const from = static_cast<const char*>(parts[i].data);
    c.bytes.insert(c.bytes.end(), from, from + bytes);
    left -= bytes;
  }
  const std::size_t moved = c.bytes.size();
  apply(f.data, c, moved);
  f.unsynced.push_back(std::move(c));
  note_modified(f);
  if ((o->flags & O_SYNC) == O_SYNC) {
    if (const int error = sync(fd); error < 0) return error;
  }
  return static_cast<std::ptrdiff_t>(moved);
}

int sim_files::sync(int fd) {
  opened* const o = find(fd);
  if (o == nullptr) return -EBADF;
  file& f = *o->what;
  const bool failed = faults().strikes(sim_fault::sync_failed, &host_);
  for (const change& c : f.unsynced) {
    if (!failed) apply(f.stored, c, c.bytes.size());
  }
  // Changes that could not be stored are forgotten, and the next sync does not report them.
  f.unsynced.clear();
  if (failed) return -EIO;
  f.is_stored = true;
  return 0;
}

int sim_files::resize(int fd, std::uint64_t bytes) {
  opened* const o = find(fd);
  if (o == nullptr) return -EBADF;
  if (!may_write(o->flags)) return -EINVAL;
  if (bytes > file_bytes_max) return -EFBIG;
  o->what->data.resize(bytes);
  note_modified(*o->what);
  o->what->unsynced.push_back({bytes, {}, true});
  return 0;
}

int sim_files::rename(std::string_view from, std::string_view to) {
  const auto at = files_.find(from);
  if (at == files_.end()) return is_directory(directory_name(from)) ? -EISDIR : -ENOENT;
  if (to.empty() || to.back() == '/') return -ENOENT;
  if (is_directory(directory_name(to))) return -EISDIR;
  if (faults().strikes(sim_fault::device_error, &host_)) return -EIO;
  const std::shared_ptr<file> moved = at->second;
  files_.insert_or_assign(std::string(to), moved);
  if (from != to) files_.erase(at);
  return 0;
}

int sim_files::remove(std::string_view path) {
  const auto at = files_.find(path);
  if (at == files_.end()) return is_directory(directory_name(path)) ? -EISDIR : -ENOENT;
  files_.erase(at);
  return 0;
}

std::int64_t sim_files::size(int fd) const noexcept {
  opened* const o = const_cast<sim_files*>(this)->find(fd);
  return o == nullptr ? -EBADF : static_cast<std::int64_t>(o->what->data.size());
}

int sim_files::examine(int fd, file_facts& facts) const noexcept {
  opened* const o = const_cast<sim_files*>(this)->find(fd);
  if (o == nullptr) return -EBADF;
  facts.bytes = facts.stored_bytes = o->what->data.size();
  facts.is_regular = !o->what->is_directory;
  facts.appends = (o->flags & O_APPEND) != 0;
  facts.number = o->what->number;
  return 0;
}

bool sim_files::is_direct(int fd) const noexcept {
  opened* const o = const_cast<sim_files*>(this)->find(fd);
  return o != nullptr && (o->flags & O_DIRECT) != 0;
}

void sim_files::apply(std::vector<char>& data, const change& c, std::size_t bytes) {
  if (c.resizes) return data.resize(c.offset);
  if (bytes == 0) return;
  if (data.size() < c.offset + bytes) data.resize(c.offset + bytes);
  std::memcpy(data.data() + c.offset, c.bytes.data(), bytes);
}

std::uint64_t sim_files::used() const noexcept {
  std::uint64_t bytes = 0;
  for (const auto& [path, f] : files_) bytes += f->data.size();
  return bytes;
}

/// Decides for each unsynced change, and for each unsynced name, how much of it the device has.
void sim_files::crash(sim_random& fate) {
  open_.clear();
  for (auto at = files_.begin(); at != files_.end();) {
    file& f = *at->second;
    for (const change& c : f.unsynced) {
      // The draw 0, the mildest: the device has all of it. Sectors are written whole, and from
      // front to back.
      const std::size_t sectors = (c.bytes.size() + sector_bytes - 1) / sector_bytes;
      const auto lost = static_cast<std::size_t>(fate.below(c.resizes ? 2 : sectors + 1));
      if (c.resizes && lost != 0) continue;
      apply(f.stored, c, std::min(c.bytes.size(), (sectors - lost) * sector_bytes));
    }
    const bool has_name = f.is_stored || fate.below(2) == 0;
    f.unsynced.clear();
    f.data = f.stored;
    f.is_stored = has_name;
    at = has_name ? std::next(at) : files_.erase(at);
  }
}

}  // namespace beck::detail
