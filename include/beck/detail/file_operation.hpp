// SPDX-License-Identifier: BSL-1.0
// A call on a file: it names its offset and never waits for readiness. io_uring makes it in the
// kernel, epoll on a thread that may block. Positional calls on one file run in parallel; those of
// a stream_file run one after the other.
#pragma once

#include <beck/detail/callback_operation.hpp>
#include <beck/detail/vector_operation.hpp>
#include <beck/io/file_status.hpp>

namespace beck::detail {

/// The call; sources: pread(2), pwrite(2), preadv(2), pwritev(2), fsync(2), fdatasync(2),
/// ftruncate(2), open(2), openat2(2), statx(2), getdents64(2).
enum class file_call : std::uint8_t {
  read,          ///< into one buffer
  write,         ///< from one buffer
  read_vector,   ///< into an array of buffers
  write_vector,  ///< from an array of buffers
  sync_all,      ///< contents and attributes to the device
  sync_data,     ///< contents, and the attributes that are needed to find them
  resize,        ///< the offset becomes the size
  open,          ///< the buffer is the path, the length the open flags
  open_in,       ///< as open, relative to the descriptor; the result is the new number
  status,        ///< of the descriptor
  status_in,     ///< of a path relative to the descriptor: the buffer
  list,          ///< entries of a directory into one buffer; the result is their size
};

class [[nodiscard]] file_operation : public operation {
 public:
  /// Makes an operation that was not started. `order`: op_kind::file or op_kind::file_in_order (the
  /// offset is the descriptor's position).
  file_operation(op_kind order, file_call what, descriptor* d, std::uint64_t from, void* data,
                 std::size_t bytes) noexcept
      : operation(order, d, data, bytes), offset(from), call(what) {}
  file_operation(file_operation&& other) noexcept
      : operation(static_cast<operation&&>(other)),
        offset(other.offset),
        creation_mode(other.creation_mode),
        registered(other.registered),
        call(other.call) {}

  /// Returns false: a file has no readiness that could be known; whether the data is in memory only
  /// the call itself finds out.
  bool await_ready() const noexcept { return false; }

  std::uint64_t offset;             ///< its start; the bytes moved are added to it
  file_operation* newer = nullptr;  ///< the links of its descriptor's list
  file_operation* older = nullptr;
  std::uint32_t creation_mode = 0;  ///< open: the permissions of a new file; list: begins anew
  std::uint16_t registered = 0;     ///< the number of its registered buffer; 0: none
  file_call call;
  bool on_thread = false;  ///< a blocking thread makes the call, not the ring
};

/// A read or write of a file.
class [[nodiscard]] file_transfer : public file_operation {
 public:
  using signature = void(error_code, std::size_t);
  using file_operation::file_operation;

  io_result<std::size_t> await_resume() const noexcept { return {error(), transferred}; }
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<file_transfer&&>(*this), static_cast<Token&&>(token));
  }
};

/// A read or write of a file with several buffers. A sequence with more parts than fit is cut, as
/// by vector_operation.
class [[nodiscard]] file_vector_transfer : public file_transfer {
 public:
  static constexpr std::size_t parts_max = vector_operation::parts_max;

  template <const_buffer_sequence S>
  file_vector_transfer(op_kind order, file_call what, descriptor* d, std::uint64_t from,
                       const S& buffers) noexcept
      : file_transfer(order, what, d, from, nullptr, 0) {
    length = detail::gather_parts(parts_, parts_max, buffers, 0, static_cast<std::size_t>(-1));
  }

  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<file_vector_transfer&&>(*this), static_cast<Token&&>(token));
  }

  io_vector* parts() noexcept { return parts_; }
  const io_vector* parts() const noexcept { return parts_; }
  /// Removes the first `bytes` bytes from the parts.
  void drop(std::size_t bytes) noexcept;

 private:
  io_vector parts_[parts_max];
};

/// A call on a file that completes with success or an error and nothing else.
class [[nodiscard]] file_action : public file_operation {
 public:
  using signature = void(error_code);
  using file_operation::file_operation;

  io_result<> await_resume() const noexcept { return io_result<>(error()); }
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<file_action&&>(*this), static_cast<Token&&>(token));
  }
};

/// A call on a file that reads the properties of that file, or of another one that it finds or
/// opens.
class [[nodiscard]] status_operation : public file_operation {
 public:
  using signature = void(error_code, file_status);

  /// Makes the call `what`: status, status_in or open_in. `bytes`: the open flags.
  status_operation(file_call what, descriptor* d, const char* path, std::size_t bytes,
                   unsigned how) noexcept
      : file_operation(op_kind::file, what, d, 0, const_cast<char*>(path), bytes), resolve(how) {}
  status_operation(status_operation&& other) noexcept
      : file_operation(static_cast<file_operation&&>(other)), resolve(other.resolve) {}

  /// Makes the call here if everything on the way is in memory, which costs less than a thread.
  bool await_ready() noexcept;
  io_result<file_status> await_resume() const noexcept { return {error(), status}; }
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<status_operation&&>(*this), static_cast<Token&&>(token));
  }

  file_status status;  ///< of the file that was found
  unsigned resolve;    ///< RESOLVE_ flags of openat2(2)
};

}  // namespace beck::detail
