// SPDX-License-Identifier: BSL-1.0
// The synchronous calls of an operating system that the library makes: sockets, names, options,
// bytes, clocks. There are two implementations: posix_system (for the real drivers) and the
// simulator's. No other file makes these calls, so every program runs on the simulator unchanged.
#pragma once

#include <cstddef>
#include <cstdint>

namespace beck::detail {

class name_sink;
class signal_sink;

}  // namespace beck::detail

namespace beck {
class exit_status;
struct file_status;

}  // namespace beck

namespace beck::detail {
struct spawn_request;
struct spawned_child;
struct io_vector;       // detail/vector_operation.hpp: laid out as struct iovec
struct message_header;  // detail/message_operation.hpp: laid out as struct mmsghdr
struct name_question;
struct name_texts;

/// The events of poll(2), without its header.
enum poll_events : unsigned {
  poll_in = 0x001,
  poll_priority = 0x002,
  poll_out = 0x004,
  poll_error = 0x008,
  poll_hang_up = 0x010,
  poll_read_hang_up = 0x2000,
};

/// RESOLVE_CACHED of openat2(2): only if everything on the way is in memory.
inline constexpr unsigned resolve_cached = 0x20;

/// The kind of a descriptor: it determines which calls move its bytes, and the meaning of a short
/// read. Sockets come first (is_socket()).
enum class descriptor_nature : std::uint8_t {
  socket,  ///< receive() and send(); a short read may have met the end of a message
  tcp,     ///< as socket, but a short read has emptied it or met an urgent mark
  /// as tcp, and a short read may also have met the end of a message with control data
  unix_stream,
  pipe,   ///< read() and write(); a short read may have met the end of a packet (O_DIRECT)
  other,  ///< a terminal, an eventfd, a device: as a pipe, without SIGPIPE
};

/// The properties of a file that a copy needs.
struct file_facts {
  /// The size; 0 for devices and for files of /proc.
  std::uint64_t bytes = 0;
  /// Bytes allocated on the device. A file that has fewer of them than its size has holes.
  std::uint64_t stored_bytes = 0;
  /// Identifies the file together with `number`, whatever its names are.
  std::uint64_t device = 0;
  std::uint64_t number = 0;
  bool is_regular = false;
  bool appends = false;  ///< writes go to the end, at any offset
};

/// The synchronous calls, which do not wait except where noted. Each returns its value or -errno,
/// and retries after EINTR itself (except for close). Thread: any, on distinct descriptors.
class system {
 public:
  virtual ~system() = default;

  /// Returns the nanoseconds of the steady clock.
  virtual std::int64_t now() noexcept = 0;
  /// Returns the date in nanoseconds since 1970-01-01 00:00 UTC. It may be set, forward and back.
  virtual std::int64_t wall_now() noexcept = 0;
  /// Fills memory with random bytes that no one can guess: getrandom(2). Waits only while a machine
  /// that has just started has none. In a simulation they follow from the seed of the world.
  virtual void random_bytes(void* data, std::size_t bytes) noexcept = 0;

  virtual int open_socket(int family, int type, int protocol) noexcept = 0;
  virtual int open_pair(int family, int type, int protocol, int (&pair)[2]) noexcept = 0;
  virtual int close(int fd) noexcept = 0;
  /// Prepares a descriptor that was made elsewhere: non-blocking, close-on-exec.
  virtual int adopt(int fd) noexcept = 0;

  virtual int bind(int fd, const void* address, std::size_t bytes) noexcept = 0;
  virtual int listen(int fd, int backlog) noexcept = 0;
  virtual int shutdown(int fd, int how) noexcept = 0;
  virtual int local_name(int fd, void* address, std::size_t& bytes) noexcept = 0;
  virtual int remote_name(int fd, void* address, std::size_t& bytes) noexcept = 0;
  virtual int set_option(int fd, int level, int name, const void* value,
                         std::size_t bytes) noexcept = 0;
  virtual int get_option(int fd, int level, int name, void* value, std::size_t& bytes) noexcept = 0;
  /// Returns the number of bytes that can be read without waiting.
  virtual int available(int fd) noexcept = 0;
  /// Performs the request of a device: ioctl(2).
  virtual int control(int fd, unsigned long request, void* argument) noexcept = 0;

  // Calls on files (open(2), pread(2), pwrite(2), fsync(2), ...). These wait for the device.
  /// Opens a file; `flags` are O_ values.
  virtual int open_file(const char* path, unsigned flags, unsigned mode) noexcept = 0;
  virtual std::ptrdiff_t read_at(int fd, void* data, std::size_t bytes,
                                 std::uint64_t offset) noexcept = 0;
  virtual std::ptrdiff_t write_at(int fd, const void* data, std::size_t bytes,
                                  std::uint64_t offset) noexcept = 0;
  virtual std::ptrdiff_t read_vector_at(int fd, const io_vector* parts, std::size_t count,
                                        std::uint64_t offset) noexcept = 0;
  virtual std::ptrdiff_t write_vector_at(int fd, const io_vector* parts, std::size_t count,
                                         std::uint64_t offset) noexcept = 0;
  /// As read_vector_at(), but never waits: returns -EAGAIN if the read might have to wait
  /// (RWF_NOWAIT).
  virtual std::ptrdiff_t read_cached(int fd, const io_vector* parts, std::size_t count,
                                     std::uint64_t offset) noexcept = 0;
  /// Opens a file relative to a directory: openat2(2); `resolve` are its RESOLVE_ flags. With
  /// resolve_cached it does not wait: returns -EAGAIN if it would have to.
  virtual int open_in(int directory, const char* path, unsigned flags, unsigned mode,
                      unsigned resolve) noexcept = 0;
  /// Reads the properties of a file. `known`: as far as the system knows them without waiting.
  virtual int read_status(int fd, file_status& status, bool known) noexcept = 0;
  /// Reads the next entries of a directory as directory_records, at least one besides "." and "..";
  /// `from_begin`: the first ones. Returns their size in bytes, 0 at the end.
  virtual std::ptrdiff_t list_directory(int fd, void* records, std::size_t bytes,
                                        bool from_begin) noexcept = 0;
  virtual int sync_file(int fd, bool data_only) noexcept = 0;
  virtual int resize_file(int fd, std::uint64_t bytes) noexcept = 0;
  /// Gives a file another name, in place of a file that has it: rename(2).
  virtual int rename_file(const char* from, const char* to) noexcept = 0;
  /// Removes the name of a file: unlink(2).
  virtual int remove_file(const char* path) noexcept = 0;
  /// Returns the size in bytes, or -errno.
  virtual std::int64_t file_size(int fd) noexcept = 0;
  /// Reads the properties of a file for a copy.
  virtual int examine_file(int fd, file_facts& facts) noexcept = 0;
  /// Sets the alignments that direct transfers need, in bytes; 0 and 0 if the file was not opened
  /// for them.
  virtual void direct_alignment(int fd, std::uint32_t& memory, std::uint32_t& offset) noexcept = 0;

  // Transfers from a file that do not pass through the program (posix_transfer.cpp). They wait for
  // the device. Each returns the number of bytes moved, 0 at the end of the file, or -errno:
  // EINVAL, EXDEV, EOPNOTSUPP, ENOSYS and others if the system cannot do it for these descriptors.
  /// Copies to another file: copy_file_range(2).
  virtual std::ptrdiff_t copy_range(int from, std::uint64_t from_offset, int to,
                                    std::uint64_t to_offset, std::size_t bytes) noexcept = 0;
  /// Copies to a file by sendfile(2), at the file's position, which is set to `to_offset` before.
  virtual std::ptrdiff_t send_to_file(int from, std::uint64_t from_offset, int to,
                                      std::uint64_t to_offset, std::size_t bytes) noexcept = 0;
  /// Copies to a file by splice(2) into `pipe` (its two ends) and out of it. Leaves the pipe empty,
  /// unless there is an error.
  virtual std::ptrdiff_t splice_to_file(int from, std::uint64_t from_offset, const int (&pipe)[2],
                                        int to, std::uint64_t to_offset,
                                        std::size_t bytes) noexcept = 0;
  /// Copies to a stream by sendfile(2). Returns -EAGAIN if the stream has no room. Raises no
  /// SIGPIPE.
  virtual std::ptrdiff_t send_to_stream(int from, std::uint64_t from_offset, int to,
                                        std::size_t bytes) noexcept = 0;
  /// Returns whether a range is in memory, as far as some of its bytes tell: then reading it does
  /// not wait.
  virtual bool is_in_memory(int fd, std::uint64_t offset, std::size_t bytes) noexcept = 0;
  /// Reads a range into memory, and makes the system begin to read the `next_bytes` behind it.
  /// Returns 0, or -EOPNOTSUPP if send_to_stream() would be refused anyway.
  virtual int read_ahead(int fd, std::uint64_t offset, std::size_t bytes,
                         std::size_t next_bytes) noexcept = 0;
  /// Sets `begin` and `end` to the next range of data at or behind `offset`. Returns -ENXIO if only
  /// a hole is left.
  virtual int find_data(int fd, std::uint64_t offset, std::uint64_t& begin,
                        std::uint64_t& end) noexcept = 0;

  virtual std::ptrdiff_t receive(int fd, void* data, std::size_t bytes) noexcept = 0;
  /// Sets `dropped_control` if control data came with the bytes: descriptors or credentials, which
  /// are lost.
  virtual std::ptrdiff_t receive_vector(int fd, io_vector* parts, std::size_t count,
                                        bool& dropped_control) noexcept = 0;
  virtual std::ptrdiff_t send(int fd, const void* data, std::size_t bytes) noexcept = 0;
  virtual std::ptrdiff_t send_vector(int fd, const io_vector* parts,
                                     std::size_t count) noexcept = 0;
  /// As send_vector(), and tells a socket that more, or its end, follows at once (MSG_MORE).
  virtual std::ptrdiff_t send_more(int fd, const io_vector* parts, std::size_t count) noexcept = 0;

  /// Makes a pipe whose ends are non-blocking and close-on-exec; the first is the one to read from.
  virtual int open_pipe(int (&ends)[2]) noexcept = 0;
  /// As adopt(), for a descriptor that need not be a socket. Returns its descriptor_nature; -EPERM
  /// if it has no readiness (regular files, directories, block devices).
  virtual int adopt_any(int fd) noexcept = 0;
  /// Reads from a descriptor that is not a socket.
  virtual std::ptrdiff_t read(int fd, io_vector* parts, std::size_t count) noexcept = 0;
  /// Writes to a descriptor that is not a socket. Returns -EPIPE for a pipe without readers, and
  /// raises no signal.
  virtual std::ptrdiff_t write(int fd, descriptor_nature what, const io_vector* parts,
                               std::size_t count) noexcept = 0;

  /// Receives one message with its address and control data. Returns its number of bytes, 0 if it
  /// is empty. The header tells how much of each was written, and `message.flags` whether something
  /// did not fit. `flags` has MSG_TRUNC for a datagram, and never for bytes of a stream.
  virtual std::ptrdiff_t receive_message(int fd, message_header& message, int flags) noexcept = 0;
  virtual std::ptrdiff_t send_message(int fd, const message_header& message,
                                      int flags) noexcept = 0;
  /// Receives several messages. Returns their number, at least one; the error of a later message is
  /// returned by the next call.
  virtual std::ptrdiff_t receive_messages(int fd, message_header* messages,
                                          std::size_t count) noexcept = 0;
  virtual std::ptrdiff_t send_messages(int fd, message_header* messages,
                                       std::size_t count) noexcept = 0;
  /// Moves bytes inside the system, from or to a pipe. `own_reader`: this program holds the reader
  /// of the pipe that is written to, so no signal can be raised. Source: splice(2).
  virtual std::ptrdiff_t splice(int from, int to, std::size_t bytes, bool own_reader) noexcept = 0;

  /// Accepts a connection. Returns the new descriptor, non-blocking and close-on-exec. Writes the
  /// peer's address, of at most `bytes` bytes, and its size; not if `address` is nullptr.
  virtual int accept(int fd, void* address, std::size_t& bytes) noexcept = 0;
  /// Connects a socket. Returns 0, -EINPROGRESS, or an error.
  virtual int connect(int fd, const void* address, std::size_t bytes) noexcept = 0;
  /// Returns and clears the pending error of a socket (SO_ERROR): 0 or -errno.
  virtual int pending_error(int fd) noexcept = 0;

  /// Delivers every further signal `number` (1 to 64) to `sink` too, in whichever thread it
  /// arrives.
  virtual int watch_signal(int number, signal_sink& sink) noexcept = 0;
  /// Ends the delivery; after this call `sink` gets no further signal `number`. Requires that the
  /// signal is watched.
  virtual void unwatch_signal(int number, signal_sink& sink) noexcept = 0;

  /// Starts a child process, or returns the reason why its program cannot run. Waits for the kernel
  /// to load it.
  virtual int spawn(const spawn_request& what, spawned_child& child) noexcept = 0;
  /// Collects the end of a child, once. Returns 0, -EAGAIN while it runs, -ECHILD if it has been
  /// collected elsewhere. `known`: it has ended, and only a debugger may still delay it; the call
  /// waits for that.
  virtual int collect_child(int handle, bool known, exit_status& status) noexcept = 0;
  virtual int signal_child(int handle, int number) noexcept = 0;
  /// Takes over the `handle` of a child that will not be collected: a later call collects it after
  /// it has ended.
  virtual void leave_child(int handle) noexcept = 0;
  // Names: these two wait for servers, so they are called in jobs and synchronous functions only.
  // They return 0, -errno, or the number of an EAI_ error, positive.
  /// Looks a name up: getaddrinfo(3).
  virtual int look_up(const name_question& question, name_sink& sink) noexcept = 0;
  /// Looks the name of an address up: getnameinfo(3).
  virtual int name_of(const void* address, std::size_t bytes, bool datagrams,
                      name_texts& names) noexcept = 0;

  /// Returns which of `events` (and error, hang-up) hold now; waits until `deadline` on the steady
  /// clock for one (INT64_MIN: not at all). The simulator asserts if it would have to wait.
  virtual int poll(int fd, unsigned events, std::int64_t deadline) noexcept = 0;
};

}  // namespace beck::detail
