// SPDX-License-Identifier: BSL-1.0
// A directory: opens files relative to it without leaving it, reads the properties of its files,
// and lists its entries in batches of bounded size. Not a template.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/file/file_object.hpp>
#include <string_view>

namespace beck {

namespace detail {
class list_operation;
}  // namespace detail

/// An entry of a directory. A view: valid until the next batch is read into the listing.
struct directory_entry {
  std::string_view name;
  std::uint64_t inode = 0;
  file_kind kind = file_kind::unknown;  ///< unknown if the file system does not report it
};

/// The memory of a listing, which holds one batch of entries at a time. Belongs to one directory
/// until restart(). Thread: one at a time.
class directory_listing {
 public:
  /// Allocates `bytes` bytes, 1 KiB to 1 MiB: an entry takes about 24 bytes and its name. Throws
  /// std::bad_alloc.
  explicit directory_listing(std::size_t bytes = 32'768);
  directory_listing(const directory_listing&) = delete;
  directory_listing& operator=(const directory_listing&) = delete;
  ~directory_listing();

  /// Iterates over the entries of the batch; never "." and "..".
  class iterator {
   public:
    iterator() noexcept = default;
    directory_entry operator*() const noexcept;
    iterator& operator++() noexcept;
    bool operator==(const iterator& other) const noexcept { return at_ == other.at_; }

   private:
    friend class directory_listing;
    iterator(const char* at, const char* end) noexcept;
    void skip_dots() noexcept;

    const char* at_ = nullptr;
    const char* end_ = nullptr;
  };

  /// Returns an iterator to the first entry of the batch.
  iterator begin() const noexcept { return {data_, data_ + filled_}; }
  /// Returns the iterator after the last entry of the batch.
  iterator end() const noexcept { return {data_ + filled_, data_ + filled_}; }
  /// Drops the batch: the next one begins with the first entry of a directory.
  void restart() noexcept {
    filled_ = 0;
    begins_ = true;
  }

 private:
  friend class detail::list_operation;

  char* data_;
  std::size_t room_;
  std::size_t filled_ = 0;
  bool begins_ = true;
};

namespace detail {

/// Reads a batch of entries. Owns nothing: the listing must outlive it.
class [[nodiscard]] list_operation : public file_operation {
 public:
  using signature = void(error_code, std::size_t);

  list_operation(descriptor* d, directory_listing& into) noexcept;

  io_result<std::size_t> await_resume() noexcept;
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<list_operation&&>(*this), static_cast<Token&&>(token));
  }

 private:
  directory_listing* into_;
};

/// Opens a file or directory in `into`, relative to another one. Owns the new descriptor until the
/// result is taken.
class [[nodiscard]] open_in_operation : public begun_by<open_in_operation, status_operation> {
 public:
  open_in_operation(descriptor* d, io_object& into, const char* path, unsigned open_flags,
                    unsigned how) noexcept
      : begun_by(file_call::open_in, d, path, open_flags, how), into_(&into) {
    creation_mode = file_object::creation_mode_default;
    result = -1;
  }
  open_in_operation(open_in_operation&& other) noexcept
      : begun_by(static_cast<begun_by&&>(other)), into_(other.into_) {
    creation_mode = other.creation_mode;
    result = std::exchange(other.result, -1);
  }
  open_in_operation& operator=(open_in_operation&&) = delete;
  ~open_in_operation() {
    if (result >= 0) drop();
  }

  bool await_ready() noexcept { return refuse() || status_operation::await_ready(); }
  void begin() noexcept;
  bool begin_immediate() noexcept;
  io_result<file_status> await_resume() noexcept;
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<open_in_operation&&>(*this), static_cast<Token&&>(token));
  }

 private:
  bool refuse() noexcept;
  void drop() noexcept;

  io_object* into_;
};

}  // namespace detail

/// A directory. Paths are relative to it, also after it was renamed or removed.
///
/// Opens and status reads are answered inside the call if everything on the path is in memory
/// (openat2(2) with RESOLVE_CACHED); else a thread of the context makes the call, as it does for
/// each batch of a listing. Errors of both: bad_descriptor if the directory is closed;
/// invalid_argument for a path with a NUL in it; those of openat2(2), by errno: EXDEV
/// (std::errc::cross_device_link) for a path that leads out of the directory, ELOOP for a link that
/// the limits forbid, EAGAIN if directories on the path were renamed again and again. Before Linux
/// 5.6, and in a sandbox without openat2(2), a thread of the context resolves paths with openat(2),
/// one component after the other. The results are the same if the limits contain `beneath`, or are
/// `anywhere`; other limits end with ENOSYS (std::errc::function_not_supported) or EPERM.
/// Thread, lifetime, cancellation: as file_object. Simulation: the directories of a host are the
/// parts of the names of its files, so a directory exists as long as it contains a file; there are
/// no links.
class directory : public detail::io_object {
 public:
  /// How a path is resolved; combine with |. The values are those of openat2(2).
  enum resolve : unsigned {
    anywhere = 0,           ///< as openat(2)
    same_device = 0x01,     ///< crosses no mount point
    no_magic_links = 0x02,  ///< does not follow the links of /proc/PID/fd and the like
    no_links = 0x04,        ///< follows no symbolic link
    beneath = 0x08,         ///< stays beneath the directory: no ".." and no link leads out of it
  };
  /// Returns the union.
  friend constexpr resolve operator|(resolve a, resolve b) noexcept {
    return static_cast<resolve>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
  }
  /// The default: no path leads outside.
  static constexpr resolve inside = static_cast<resolve>(0x0A);

  /// Makes a closed directory.
  explicit directory(io_context& context);
  /// Makes a closed directory whose operations complete on `executor`. Throws io_error
  /// (invalid_argument) unless its context is an io_context.
  explicit directory(const any_io_executor& executor);
  /// Opens a directory: see open(). Throws io_error.
  directory(io_context& context, std::string_view path);

  /// Returns the executor that operations complete on.
  any_io_executor get_executor() const noexcept { return object_executor(); }

  /// Opens a directory, to resolve paths and to list it; waits for the device. Errors: those of
  /// open(2), such as not_a_directory; name_too_long for a path of more than 4,095 bytes;
  /// invalid_argument for one that contains NUL; already_open.
  void open(std::string_view path, error_code& ec) noexcept;
  /// As above, and throws on failure.
  void open(std::string_view path);
  /// Opens a directory without blocking. Completes with (error_code). As file_object::async_open().
  detail::file_action async_open(const char* path) noexcept;
  /// As above. `token` takes (error_code).
  template <class Token>
  auto async_open(const char* path, Token&& token) {
    return detail::launch(async_open(path), static_cast<Token&&>(token));
  }
  /// As above, with a path that the operation keeps.
  template <detail::owned_path Path>
  detail::path_operation<detail::file_action, Path> async_open(Path path) {
    return {async_open(path.c_str()), static_cast<Path&&>(path)};
  }
  /// As above. `token` takes (error_code).
  template <detail::owned_path Path, class Token>
  auto async_open(Path path, Token&& token) {
    return detail::launch(async_open(static_cast<Path&&>(path)), static_cast<Token&&>(token));
  }

  /// Opens a file of this directory in `file`, which must be closed, and outlive the operation.
  /// Completes with (error_code, file_status): the properties of the opened file. Also opens files
  /// that are not regular, so check the status; does not wait for the writer of a named pipe.
  /// Errors besides those of openat2(2): already_open; operation_not_supported for a file of
  /// another simulated context. Requires that `path` is not modified until completion. Source:
  /// openat2(2), statx(2).
  detail::open_in_operation async_open_file(file_object& file, const char* path,
                                            file_object::flags how,
                                            resolve limits = inside) noexcept;
  /// As above. `token` takes (error_code, file_status).
  template <class Token>
  auto async_open_file(file_object& file, const char* path, file_object::flags how, resolve limits,
                       Token&& token) {
    return detail::launch(async_open_file(file, path, how, limits), static_cast<Token&&>(token));
  }
  /// As above, with a path that the operation keeps.
  template <detail::owned_path Path>
  detail::path_operation<detail::open_in_operation, Path> async_open_file(file_object& file,
                                                                          Path path,
                                                                          file_object::flags how,
                                                                          resolve limits = inside) {
    return {async_open_file(file, path.c_str(), how, limits), static_cast<Path&&>(path)};
  }
  /// As above. `token` takes (error_code, file_status).
  template <detail::owned_path Path, class Token>
  auto async_open_file(file_object& file, Path path, file_object::flags how, resolve limits,
                       Token&& token) {
    return detail::launch(async_open_file(file, static_cast<Path&&>(path), how, limits),
                          static_cast<Token&&>(token));
  }

  /// Opens a directory of this directory in `other`; else as async_open_file().
  detail::open_in_operation async_open_directory(directory& other, const char* path,
                                                 resolve limits = inside) noexcept;
  /// As above. `token` takes (error_code, file_status).
  template <class Token>
  auto async_open_directory(directory& other, const char* path, resolve limits, Token&& token) {
    return detail::launch(async_open_directory(other, path, limits), static_cast<Token&&>(token));
  }
  /// As above, with a path that the operation keeps.
  template <detail::owned_path Path>
  detail::path_operation<detail::open_in_operation, Path> async_open_directory(
      directory& other, Path path, resolve limits = inside) {
    return {async_open_directory(other, path.c_str(), limits), static_cast<Path&&>(path)};
  }
  /// As above. `token` takes (error_code, file_status).
  template <detail::owned_path Path, class Token>
  auto async_open_directory(directory& other, Path path, resolve limits, Token&& token) {
    return detail::launch(async_open_directory(other, static_cast<Path&&>(path), limits),
                          static_cast<Token&&>(token));
  }

  /// Reads the properties of the file at `path`, of any kind, without opening it; "." is the
  /// directory itself. Completes with (error_code, file_status). Needs no permission to read the
  /// file. Requires that `path` is not modified until completion. Source: openat2(2) with O_PATH,
  /// statx(2).
  detail::status_operation async_status(const char* path, resolve limits = inside) noexcept {
    return {detail::file_call::status_in, descriptor_, path, 0, limits};
  }
  /// As above. `token` takes (error_code, file_status).
  template <class Token>
  auto async_status(const char* path, resolve limits, Token&& token) {
    return detail::launch(async_status(path, limits), static_cast<Token&&>(token));
  }
  /// As above, with a path that the operation keeps.
  template <detail::owned_path Path>
  detail::path_operation<detail::status_operation, Path> async_status(Path path,
                                                                      resolve limits = inside) {
    return {async_status(path.c_str(), limits), static_cast<Path&&>(path)};
  }
  /// As above. `token` takes (error_code, file_status).
  template <detail::owned_path Path, class Token>
  auto async_status(Path path, resolve limits, Token&& token) {
    return detail::launch(async_status(static_cast<Path&&>(path), limits),
                          static_cast<Token&&>(token));
  }

  /// Reads the next batch of entries into `listing`, in the order of the file system. Completes
  /// with (error_code, std::size_t): the number of entries in the batch, at least one; eof after
  /// the last one. Entries that are added or removed meanwhile may be left out. Listings of one
  /// directory are made one after the other; each begins at the first entry. Errors: eof; those of
  /// getdents64(2). Requires that `listing` is not used until completion.
  detail::list_operation async_list(directory_listing& listing) noexcept {
    return {descriptor_, listing};
  }
  /// As above. `token` takes (error_code, std::size_t).
  template <class Token>
  auto async_list(directory_listing& listing, Token&& token) {
    return detail::launch(async_list(listing), static_cast<Token&&>(token));
  }

  /// Returns the slot, for the library's own operations.
  detail::descriptor* slot() noexcept { return descriptor_; }
};

}  // namespace beck
