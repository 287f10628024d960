// SPDX-License-Identifier: BSL-1.0
// The common interface of stream_file and random_access_file: opening, size, syncing, and how the
// library waits for the device. Not a template.
#pragma once

#include <beck/detail/file_operation.hpp>
#include <beck/detail/io_object.hpp>
#include <beck/detail/typed_executor.hpp>
#include <string_view>

namespace beck {

namespace detail {

/// A type that owns a path: std::string, std::filesystem::path or a similar one.
template <class P>
concept owned_path = std::is_nothrow_move_constructible_v<P> && requires(const P& path) {
  { path.c_str() } -> std::same_as<const char*>;
};

/// An operation of class `Op` on a path that it stores. Errors besides those of `Op`:
/// invalid_argument for a path with a NUL in it.
template <class Op, class Path>
class [[nodiscard]] path_operation : public begun_by<path_operation<Op, Path>, Op> {
 public:
  path_operation(Op&& inert, Path&& path) noexcept
      : begun_by<path_operation<Op, Path>, Op>(static_cast<Op&&>(inert)),
        path_(static_cast<Path&&>(path)) {}

  bool await_ready() noexcept {
    this->address = const_cast<char*>(path_.c_str());
    return !has_nul() && Op::await_ready();
  }
  /// Starts the operation, which is not moved from now on, so that its path has a fixed address.
  void begin() noexcept {
    this->address = const_cast<char*>(path_.c_str());
    if (has_nul()) {
      detail::complete_later(*this, -error::invalid_argument);
    } else {
      Op::begin();
    }
  }
  bool begin_immediate() noexcept {
    begin();
    return false;
  }

  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<path_operation&&>(*this), static_cast<Token&&>(token));
  }

 private:
  bool has_nul() const noexcept {
    if constexpr (requires { path_.size(); }) {
      return __builtin_strlen(path_.c_str()) != path_.size();
    } else {
      return __builtin_strlen(path_.c_str()) != path_.native().size();
    }
  }

  Path path_;
};

}  // namespace detail

/// A regular file, a block device, or any other file that pread(2) and pwrite(2) work on; not a
/// pipe, a terminal or a socket, whose calls might never return (see posix::stream_descriptor).
///
/// Thread, lifetime: as io_object. Cancellation: cancel() and close() end operations that have not
/// begun; a call that the device already performs delivers its result, because it cannot be undone.
/// close() does not wait: the file is closed when the last call has returned.
/// On a closed file operations end with bad_descriptor. A function without `ec` throws io_error on
/// failure.
/// io_uring: in the kernel. epoll: on a few threads of the context. Simulation: in memory.
class file_object : public detail::io_object {
 public:
  /// How to open a file; combine with |. One of the first three is needed.
  enum flags : unsigned {
    read_only = 1,
    write_only = 2,
    read_write = 4,
    append = 8,               ///< every write appends; its offset is ignored
    create = 16,              ///< makes the file if it does not exist
    exclusive = 32,           ///< with create: fails if the file exists
    truncate = 64,            ///< discards the content
    sync_all_on_write = 128,  ///< a write completes when it is on the device
    direct = 256,             ///< bypasses the page cache (O_DIRECT): see direct_alignment()
  };
  /// Returns the union.
  friend constexpr flags operator|(flags a, flags b) noexcept {
    return static_cast<flags>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
  }
  /// The alignment that direct transfers of a file need, in bytes; all 0 if the file does not
  /// support them.
  struct alignment {
    std::uint32_t memory = 0;  ///< of the address of each buffer
    std::uint32_t offset = 0;  ///< of the offset, and of the size of each buffer
  };
  /// The position that seek() counts from: the beginning, the present position, the end.
  enum seek_basis { seek_set, seek_cur, seek_end };

  /// Permissions of a file that is created, before the process's umask.
  static constexpr std::uint32_t creation_mode_default = 0666;

  /// Opens a file; waits for the device. Errors: those of open(2); name_too_long for a path of more
  /// than 4,095 bytes; invalid_argument for one that contains NUL; already_open.
  error_code open(std::string_view path, flags how, error_code& ec) noexcept;
  /// As above, and throws on failure; the text of the exception names the path.
  void open(std::string_view path, flags how);
  /// Opens a file without blocking. Completes with (error_code). Errors: those of open(2);
  /// already_open. Requires that `path` is not modified until completion. If the file was opened
  /// although the operation was cancelled, it is closed again.
  detail::file_action async_open(const char* path, flags how) noexcept;
  /// As above. `token` takes (error_code).
  template <class Token>
  auto async_open(const char* path, flags how, Token&& token) {
    return detail::launch(async_open(path, how), static_cast<Token&&>(token));
  }
  /// As above, with a std::string or a std::filesystem::path, which the operation stores. Further
  /// error: invalid_argument for a path that contains NUL.
  template <detail::owned_path Path>
  detail::path_operation<detail::file_action, Path> async_open(Path path, flags how) {
    return {async_open(path.c_str(), how), static_cast<Path&&>(path)};
  }
  /// As above. `token` takes (error_code).
  template <detail::owned_path Path, class Token>
  auto async_open(Path path, flags how, Token&& token) {
    return detail::launch(async_open(static_cast<Path&&>(path), how), static_cast<Token&&>(token));
  }

  /// Takes over an open descriptor. Errors: already_open; those of fstat(2), such as
  /// bad_descriptor. The caller then still owns `handle`.
  error_code assign(int handle, error_code& ec) noexcept;
  /// As above, and throws on failure.
  void assign(int handle);

  /// Returns the size in bytes; 0 with an error. Source: fstat(2).
  std::uint64_t size(error_code& ec) const noexcept;
  /// As above, and throws on failure.
  std::uint64_t size() const;
  /// Returns the properties of the file; those of an empty file_status with an error. May ask the
  /// server of a network file system. Source: statx(2).
  file_status status(error_code& ec) const noexcept;
  /// As above, and throws on failure.
  file_status status() const;
  /// Reads the properties of the file on a thread of the context. Completes with (error_code,
  /// file_status). Errors: those of statx(2).
  detail::status_operation async_status() noexcept {
    return {detail::file_call::status, descriptor_, nullptr, 0, 0};
  }
  /// As above. `token` takes (error_code, file_status).
  template <class Token>
  auto async_status(Token&& token) {
    return detail::launch(async_status(), static_cast<Token&&>(token));
  }

  /// Sets the size: cuts the end off, or adds zeros. Source: ftruncate(2).
  error_code resize(std::uint64_t bytes, error_code& ec) noexcept;
  /// As above, and throws on failure.
  void resize(std::uint64_t bytes);
  /// Sets the size. Completes with (error_code).
  detail::file_action async_resize(std::uint64_t bytes) noexcept {
    return {detail::op_kind::file, detail::file_call::resize, descriptor_, bytes, nullptr, 0};
  }
  /// As above. `token` takes (error_code).
  template <class Token>
  auto async_resize(std::uint64_t bytes, Token&& token) {
    return detail::launch(async_resize(bytes), static_cast<Token&&>(token));
  }

  /// Writes all data and attributes to the device. After an error (EIO, ENOSPC, EDQUOT) earlier
  /// writes may be lost, and every later sync of this object reports that error again until the
  /// file is closed. Does not wait for writes under way: await them first. Source: fsync(2).
  error_code sync_all(error_code& ec) noexcept;
  /// As above, and throws on failure.
  void sync_all();
  /// Writes everything to the device. Completes with (error_code). Errors as sync_all().
  detail::file_action async_sync_all() noexcept {
    return {detail::op_kind::file, detail::file_call::sync_all, descriptor_, 0, nullptr, 0};
  }
  /// As above. `token` takes (error_code).
  template <class Token>
  auto async_sync_all(Token&& token) {
    return detail::launch(async_sync_all(), static_cast<Token&&>(token));
  }
  /// As sync_all(), without attributes that are not needed to read the data back. Source:
  /// fdatasync(2).
  error_code sync_data(error_code& ec) noexcept;
  /// As above, and throws on failure.
  void sync_data();
  /// As async_sync_all(), without attributes that are not needed to read the data back.
  detail::file_action async_sync_data() noexcept {
    return {detail::op_kind::file, detail::file_call::sync_data, descriptor_, 0, nullptr, 0};
  }
  /// As above. `token` takes (error_code).
  template <class Token>
  auto async_sync_data(Token&& token) {
    return detail::launch(async_sync_data(), static_cast<Token&&>(token));
  }

  /// Reads the bytes at `offset` that are in memory, and does not wait for the device: for small
  /// reads, which are mostly there. Returns their number; 0 with an error. Errors: would_block if
  /// the first byte is not in memory, or the file system cannot tell; eof at the end of the file;
  /// bad_descriptor if closed; else those of pread(2). Source: preadv2(2), RWF_NOWAIT.
  std::size_t read_cached(std::uint64_t offset, mutable_buffer to, error_code& ec) noexcept;

  /// Returns the alignment that a file opened with `direct` needs. Other transfers end with
  /// error::misaligned if the kernel refuses them. Source: statx(2), STATX_DIOALIGN; 4,096 where
  /// that is missing.
  alignment direct_alignment() const noexcept;

  /// Returns the slot, for the library's own composed operations.
  detail::descriptor* slot() noexcept { return descriptor_; }

 protected:
  using detail::io_object::io_object;

  /// Performs an operation in this call. Returns the number of bytes moved.
  std::size_t call_now(detail::file_operation& op, error_code& ec) const noexcept;
  /// Moves the position of a stream_file: see basic_stream_file::seek().
  std::uint64_t seek_to(std::int64_t offset, seek_basis whence, error_code& ec) noexcept;
};

/// The typed part of files: executor and constructors.
template <class Executor>
class basic_file : public file_object {
 public:
  /// The type of the executor.
  using executor_type = Executor;

  /// Returns the executor that operations complete on.
  executor_type get_executor() const noexcept { return typed_.get(object_executor()); }

 protected:
  template <class Other>
  explicit basic_file(basic_file<Other>&& other) noexcept
      : file_object(static_cast<file_object&&>(other)), typed_(other.get_executor()) {}
  /// Makes a closed file on `executor`.
  explicit basic_file(const Executor& executor)
      : file_object(any_io_executor(executor)), typed_(executor) {}
  /// Makes a closed file that `context` drives, and whose operations complete on `executor`.
  basic_file(io_context& context, const Executor& executor)
      : file_object(context, any_io_executor(executor)), typed_(executor) {}

 private:
  [[no_unique_address]] detail::typed_executor<Executor> typed_;
};

}  // namespace beck
