// SPDX-License-Identifier: BSL-1.0
// The system calls of a simulated host. Each call that changes something goes into the hash.
#pragma once

#include <memory>

#include "io/sim/sim_world.hpp"
#include "io/system/system.hpp"

namespace beck::detail {

class sim_runners;

/// One per context. Thread: the thread of the world.
class sim_system final : public system {
 public:
  /// The system of a context on `host`, whose world has other contexts.
  explicit sim_system(sim_host& host) noexcept;
  /// The system of a context that owns its world and is alone in it.
  explicit sim_system(std::unique_ptr<sim_world> world);
  ~sim_system() override;

  sim_host& host() const noexcept { return *host_; }
  /// Returns the socket with this number; nullptr if there is none, or if the host has crashed
  /// since this system was made.
  sim_socket* find(int fd) const noexcept { return is_alive() ? host_->find(fd) : nullptr; }
  sim_world& world() const noexcept { return host_->world(); }
  /// Sets the virtual threads that may wait in synchronous calls of a shared context.
  void run_by(sim_runners* runners) noexcept { runners_ = runners; }

  std::int64_t now() noexcept override { return world().clock().now(); }
  std::int64_t wall_now() noexcept override;
  void random_bytes(void* data, std::size_t bytes) noexcept override;

  int open_socket(int family, int type, int protocol) noexcept override;
  int open_pair(int family, int type, int protocol, int (&pair)[2]) noexcept override;
  int close(int fd) noexcept override;
  int adopt(int fd) noexcept override;

  int bind(int fd, const void* address, std::size_t bytes) noexcept override;
  int listen(int fd, int backlog) noexcept override;
  int shutdown(int fd, int how) noexcept override;
  int local_name(int fd, void* address, std::size_t& bytes) noexcept override;
  int remote_name(int fd, void* address, std::size_t& bytes) noexcept override;
  int set_option(int fd, int level, int name, const void* value,
                 std::size_t bytes) noexcept override;
  int get_option(int fd, int level, int name, void* value, std::size_t& bytes) noexcept override;
  int available(int fd) noexcept override;
  int control(int fd, unsigned long request, void* argument) noexcept override;

  int open_file(const char* path, unsigned flags, unsigned mode) noexcept override;
  std::ptrdiff_t read_at(int fd, void* data, std::size_t bytes,
                         std::uint64_t offset) noexcept override;
  std::ptrdiff_t write_at(int fd, const void* data, std::size_t bytes,
                          std::uint64_t offset) noexcept override;
  std::ptrdiff_t read_vector_at(int fd, const io_vector* parts, std::size_t count,
                                std::uint64_t offset) noexcept override;
  std::ptrdiff_t write_vector_at(int fd, const io_vector* parts, std::size_t count,
                                 std::uint64_t offset) noexcept override;
  std::ptrdiff_t read_cached(int fd, const io_vector* parts, std::size_t count,
                             std::uint64_t offset) noexcept override;
  int open_in(int directory, const char* path, unsigned flags, unsigned mode,
              unsigned resolve) noexcept override;
  int read_status(int fd, file_status& status, bool known) noexcept override;
  std::ptrdiff_t list_directory(int fd, void* records, std::size_t bytes,
                                bool from_begin) noexcept override;
  int sync_file(int fd, bool data_only) noexcept override;
  int resize_file(int fd, std::uint64_t bytes) noexcept override;
  int rename_file(const char* from, const char* to) noexcept override;
  int remove_file(const char* path) noexcept override;
  std::int64_t file_size(int fd) noexcept override;
  int examine_file(int fd, file_facts& facts) noexcept override;
  void direct_alignment(int fd, std::uint32_t& memory, std::uint32_t& offset) noexcept override;
  std::ptrdiff_t copy_range(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
                            std::size_t bytes) noexcept override;
  std::ptrdiff_t send_to_file(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
                              std::size_t bytes) noexcept override;
  std::ptrdiff_t splice_to_file(int from, std::uint64_t from_offset, const int (&pipe)[2], int to,
                                std::uint64_t to_offset, std::size_t bytes) noexcept override;
  std::ptrdiff_t send_to_stream(int from, std::uint64_t from_offset, int to,
                                std::size_t bytes) noexcept override;
  bool is_in_memory(int fd, std::uint64_t offset, std::size_t bytes) noexcept override;
  int read_ahead(int fd, std::uint64_t offset, std::size_t bytes,
                 std::size_t next_bytes) noexcept override;
  int find_data(int fd, std::uint64_t offset, std::uint64_t& begin,
                std::uint64_t& end) noexcept override;

  std::ptrdiff_t receive(int fd, void* data, std::size_t bytes) noexcept override;
  std::ptrdiff_t receive_vector(int fd, io_vector* parts, std::size_t count,
                                bool& dropped_control) noexcept override;
  std::ptrdiff_t send(int fd, const void* data, std::size_t bytes) noexcept override;
  std::ptrdiff_t send_vector(int fd, const io_vector* parts, std::size_t count) noexcept override;
  std::ptrdiff_t send_more(int fd, const io_vector* parts, std::size_t count) noexcept override;
  int open_pipe(int (&ends)[2]) noexcept override;
  int adopt_any(int fd) noexcept override;
  std::ptrdiff_t read(int fd, io_vector* parts, std::size_t count) noexcept override;
  std::ptrdiff_t write(int fd, descriptor_nature what, const io_vector* parts,
                       std::size_t count) noexcept override;
  std::ptrdiff_t receive_message(int fd, message_header& message, int flags) noexcept override;
  std::ptrdiff_t send_message(int fd, const message_header& message, int flags) noexcept override;
  std::ptrdiff_t receive_messages(int fd, message_header* messages,
                                  std::size_t count) noexcept override;
  std::ptrdiff_t send_messages(int fd, message_header* messages,
                               std::size_t count) noexcept override;
  std::ptrdiff_t splice(int from, int to, std::size_t bytes, bool own_reader) noexcept override;
  int accept(int fd, void* address, std::size_t& bytes) noexcept override;
  int connect(int fd, const void* address, std::size_t bytes) noexcept override;
  int pending_error(int fd) noexcept override;
  int watch_signal(int number, signal_sink& sink) noexcept override;
  void unwatch_signal(int number, signal_sink& sink) noexcept override;
  int spawn(const spawn_request& what, spawned_child& child) noexcept override;
  int collect_child(int handle, bool known, exit_status& status) noexcept override;
  int signal_child(int handle, int number) noexcept override;
  void leave_child(int handle) noexcept override;
  int look_up(const name_question& question, name_sink& sink) noexcept override;
  int name_of(const void* address, std::size_t bytes, bool datagrams,
              name_texts& names) noexcept override;
  /// Waits in virtual time while the network continues. If nothing can ever happen, the program
  /// ends with a message.
  int poll(int fd, unsigned events, std::int64_t deadline) noexcept override;

 private:
  int close_file(int fd) noexcept;
  template <class Action>
  std::ptrdiff_t on_files(sim_note what, int fd, Action&& action) noexcept;
  template <class Action>
  auto on(sim_note what, int fd, Action&& action) noexcept;
  sim_network& network() const noexcept { return world().network(); }
  bool await(int fd, unsigned events, std::int64_t deadline) noexcept;
  bool is_alive() const noexcept { return host_->is_up() && host_->boot() == boot_; }

  std::unique_ptr<sim_world> own_;
  sim_host* host_;
  sim_runners* runners_ = nullptr;
  std::uint32_t boot_;  // boot() of the host when this was made
};

}  // namespace beck::detail
