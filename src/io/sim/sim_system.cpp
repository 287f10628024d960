// SPDX-License-Identifier: BSL-1.0
// The calls on simulated sockets: each finds the socket by its number and calls the network.
#include "io/sim/sim_system.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>

#include <sys/ioctl.h>
#include <sys/socket.h>

#include <beck/base/assert.hpp>
#include <beck/detail/message_operation.hpp>

#include "io/sim/sim_name.hpp"
#include "io/sim/sim_runners.hpp"

namespace beck::detail {

template <class Action>
auto sim_system::on(sim_note what, int fd, Action&& action) noexcept {
  using result_type = decltype(action(*host_->find(fd)));
  sim_socket* const socket = find(fd);
  result_type result = -EBADF;
  if (socket != nullptr) {
    try {
      result = action(*socket);
    } catch (const std::bad_alloc&) {
      result = -ENOBUFS;
    }
  }
  world().note(*host_, what, fd, result);
  return result;
}

sim_system::sim_system(sim_host& host) noexcept : host_(&host), boot_(host.boot()) {
  ++world().contexts;
}

sim_system::sim_system(std::unique_ptr<sim_world> world)
    : own_(std::move(world)), host_(&own_->host("localhost")), boot_(host_->boot()) {
  ++own_->contexts;
}

sim_system::~sim_system() { --world().contexts; }

// --- sockets -----------------------------------------------------------------------------------

int sim_system::watch_signal(int number, signal_sink& sink) noexcept {
  constexpr int kill_number = 9, stop_number = 19;  // no program can catch these
  if (number == kill_number || number == stop_number) return -EINVAL;
  if (!is_alive()) return -EIO;
  try {
    host_->signal_watchers.push_back({number, &sink});
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
  return 0;
}

void sim_system::unwatch_signal(int number, signal_sink& sink) noexcept {
  std::erase_if(host_->signal_watchers, [&](const sim_host::signal_watcher& watcher) {
    return watcher.number == number && watcher.sink == &sink;
  });
}

// A simulated host runs no other programs.
int sim_system::spawn(const spawn_request&, spawned_child&) noexcept { return -EOPNOTSUPP; }
int sim_system::collect_child(int, bool, exit_status&) noexcept { return -EOPNOTSUPP; }
int sim_system::signal_child(int, int) noexcept { return -EOPNOTSUPP; }
void sim_system::leave_child(int) noexcept {}

void sim_system::random_bytes(void* data, std::size_t bytes) noexcept {
  char* const to = static_cast<char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<char>(world().keys().next() >> 56);
}

std::int64_t sim_system::wall_now() noexcept {
  sim_faults& faults = world().faults();
  if (faults.strikes(sim_fault::date_set, host_)) {
    const auto step = static_cast<std::int64_t>(
        faults.random().below(static_cast<std::uint64_t>(2 * sim_world::date_step_ns_max) + 1));
    // The draw 0, the mildest, changes nothing; lower draws set the date forward, higher ones back.
    host_->set_date(host_->date() + (step <= sim_world::date_step_ns_max
                                         ? step
                                         : sim_world::date_step_ns_max - step));
  }
  return host_->date();
}

int sim_system::open_socket(int family, int type, int protocol) noexcept {
  int result = -ENOBUFS;
  if (!is_alive()) return -ENETDOWN;
  try {
    result = network().open(*host_, family, type, protocol);
  } catch (const std::bad_alloc&) {  // `result` is the error already
  }
  world().note(*host_, sim_note::open, family, result);
  return result;
}

int sim_system::open_pair(int family, int type, int protocol, int (&pair)[2]) noexcept {
  int result = -ENOBUFS;
  if (!is_alive()) return -ENETDOWN;
  try {
    result = network().open_pair(*host_, family, type, protocol, pair);
  } catch (const std::bad_alloc&) {  // `result` is the error already
  }
  world().note(*host_, sim_note::pair, family, result);
  return result;
}

int sim_system::close(int fd) noexcept {
  if (sim_files::owns(fd)) return close_file(fd);
  return on(sim_note::close, fd, [this](sim_socket& s) {
    network().close(s);
    return world().faults().strikes(sim_fault::close_interrupted, host_) ? -EINTR : 0;
  });
}

int sim_system::adopt(int fd) noexcept {
  return on(sim_note::query, fd, [](sim_socket&) { return 0; });
}

int sim_system::open_pipe(int (&ends)[2]) noexcept {
  int result = -ENOMEM;
  if (!is_alive()) return -EIO;
  try {
    result = network().open_pipe(*host_, ends);
  } catch (const std::bad_alloc&) {  // `result` is the error already
  }
  world().note(*host_, sim_note::pipe, result < 0 ? -1 : ends[0], result);
  return result;
}

int sim_system::adopt_any(int fd) noexcept {
  return on(sim_note::query, fd, [](sim_socket& s) {
    return static_cast<int>(s.pipe_end == sim_pipe_end::none ? descriptor_nature::socket
                                                             : descriptor_nature::pipe);
  });
}

int sim_system::bind(int fd, const void* address, std::size_t bytes) noexcept {
  return on(sim_note::bind, fd, [&](sim_socket& s) { return network().bind(s, address, bytes); });
}

int sim_system::listen(int fd, int backlog) noexcept {
  return on(sim_note::listen, fd, [&](sim_socket& s) { return network().listen(s, backlog); });
}

int sim_system::shutdown(int fd, int how) noexcept {
  return on(sim_note::shutdown, fd, [&](sim_socket& s) { return network().shutdown(s, how); });
}

int sim_system::accept(int fd, void* address, std::size_t& bytes) noexcept {
  return on(sim_note::accept, fd,
            [&](sim_socket& s) { return network().accept(s, address, bytes); });
}

int sim_system::connect(int fd, const void* address, std::size_t bytes) noexcept {
  return on(sim_note::connect, fd,
            [&](sim_socket& s) { return network().connect(s, address, bytes); });
}

// --- queries -----------------------------------------------------------------------------------

int sim_system::local_name(int fd, void* address, std::size_t& bytes) noexcept {
  return on(sim_note::query, fd,
            [&](sim_socket& s) { return network().local_name(s, address, bytes); });
}

int sim_system::remote_name(int fd, void* address, std::size_t& bytes) noexcept {
  return on(sim_note::query, fd,
            [&](sim_socket& s) { return network().remote_name(s, address, bytes); });
}

int sim_system::set_option(int fd, int level, int name, const void* value,
                           std::size_t bytes) noexcept {
  return on(sim_note::set_option, fd,
            [&](sim_socket& s) { return network().set_option(s, level, name, value, bytes); });
}

int sim_system::get_option(int fd, int level, int name, void* value, std::size_t& bytes) noexcept {
  return on(sim_note::query, fd,
            [&](sim_socket& s) { return network().get_option(s, level, name, value, bytes); });
}

int sim_system::available(int fd) noexcept {
  return on(sim_note::query, fd, [](sim_socket& s) {
    if (s.datagram) return s.inbox.empty() ? 0 : static_cast<int>(s.inbox.front().bytes.size());
    return s.phase == sim_phase::listening ? -EINVAL : static_cast<int>(s.in.readable());
  });
}

int sim_system::control(int fd, unsigned long request, void* argument) noexcept {
  if (request != FIONREAD) return -ENOTTY;
  const int bytes = available(fd);
  if (bytes >= 0) *static_cast<int*>(argument) = bytes;
  return std::min(bytes, 0);
}

int sim_system::pending_error(int fd) noexcept {
  return on(sim_note::pending_error, fd, [](sim_socket& s) { return -sim_network::take_error(s); });
}

// --- bytes -------------------------------------------------------------------------------------

std::ptrdiff_t sim_system::receive(int fd, void* data, std::size_t bytes) noexcept {
  io_vector part{data, bytes};
  return read(fd, &part, 1);
}

std::ptrdiff_t sim_system::receive_vector(int fd, io_vector* parts, std::size_t count,
                                          bool& dropped_control) noexcept {
  std::size_t asked = 0;
  for (std::size_t i = 0; i < count; ++i) asked += parts[i].bytes;
  return on(sim_note::receive, fd, [&](sim_socket& s) {
    const std::ptrdiff_t result = network().waiting(s, asked);
    if (result <= 0) return result;
    auto left = static_cast<std::size_t>(result);
    for (std::size_t i = 0; left != 0; ++i) {
      const std::size_t part = parts[i].bytes < left ? parts[i].bytes : left;
      network().take(s, static_cast<char*>(parts[i].data), part);
      left -= part;
    }
    network().take_done(s, asked, static_cast<std::size_t>(result));
    // A boundary of a UNIX stream is the end of a message with control data.
    if (s.family == AF_UNIX && sim_network::stands_at_boundary(s)) dropped_control = true;
    return result;
  });
}

std::ptrdiff_t sim_system::send(int fd, const void* data, std::size_t bytes) noexcept {
  const io_vector part{const_cast<void*>(data), bytes};
  return send_vector(fd, &part, 1);
}

std::ptrdiff_t sim_system::send_more(int fd, const io_vector* parts, std::size_t count) noexcept {
  return send_vector(fd, parts, count);
}

std::ptrdiff_t sim_system::send_vector(int fd, const io_vector* parts, std::size_t count) noexcept {
  std::size_t asked = 0;
  for (std::size_t i = 0; i < count; ++i) asked += parts[i].bytes;
  return on(sim_note::send, fd, [&](sim_socket& s) {
    const std::ptrdiff_t result = network().room(s, asked);
    if (result <= 0) return result;
    const std::uint64_t first_byte = s.peer->in.sent();
    auto left = static_cast<std::size_t>(result);
    for (std::size_t i = 0; left != 0; ++i) {
      const std::size_t part = parts[i].bytes < left ? parts[i].bytes : left;
      network().put(s, static_cast<const char*>(parts[i].data), part);
      left -= part;
    }
    network().put_done(s, first_byte, asked);
    return result;
  });
}

std::ptrdiff_t sim_system::read(int fd, io_vector* parts, std::size_t count) noexcept {
  bool unused = false;
  return receive_vector(fd, parts, count, unused);
}

std::ptrdiff_t sim_system::write(int fd, descriptor_nature, const io_vector* parts,
                                 std::size_t count) noexcept {
  return send_vector(fd, parts, count);
}

/// Copies bytes of a stream without reading them: MSG_PEEK. Returns their number.
static std::ptrdiff_t peek(const sim_pipe& in, const message_header& message) noexcept {
  std::size_t copied = 0;
  for (std::size_t i = 0; i < message.part_count; ++i) {
    const io_vector& part = message.parts[i];
    const std::size_t bytes = std::min(part.bytes, in.readable() - copied);
    in.copy(copied, static_cast<char*>(part.data), bytes);
    copied += bytes;
  }
  return static_cast<std::ptrdiff_t>(copied);
}

std::ptrdiff_t sim_system::receive_message(int fd, message_header& message, int flags) noexcept {
  const sim_socket* const socket = find(fd);
  if (socket != nullptr && !socket->datagram) {
    message.address_bytes = 0;
    message.control_bytes = 0;
    message.flags = 0;
    if ((flags & MSG_PEEK) != 0 && socket->in.readable() != 0) return peek(socket->in, message);
    return read(fd, message.parts, message.part_count);
  }
  return on(sim_note::receive, fd,
            [&](sim_socket& s) { return network().receive_datagram(s, message, flags); });
}

std::ptrdiff_t sim_system::send_message(int fd, const message_header& message, int) noexcept {
  const sim_socket* const socket = find(fd);
  const bool is_unix = socket != nullptr && socket->family == AF_UNIX;
  if (is_unix && message.control_bytes != 0) return -EOPNOTSUPP;  // descriptors are not passed on
  if (socket != nullptr && !socket->datagram) {
    return send_vector(fd, message.parts, message.part_count);
  }
  return on(sim_note::send, fd, [&](sim_socket& s) { return network().send_datagram(s, message); });
}

/// Receives several messages as recvmmsg(2) does: an error after the first one is reported by the
/// next call.
std::ptrdiff_t sim_system::receive_messages(int fd, message_header* messages,
                                            std::size_t count) noexcept {
  std::size_t done = 0;
  while (done < count) {
    const std::ptrdiff_t r = receive_message(fd, messages[done], 0);
    if (r < 0 && done == 0) return r;
    if (r < 0) {
      sim_socket* const s = find(fd);
      if (r != -EAGAIN && s != nullptr) s->error = static_cast<int>(-r);
      break;
    }
    messages[done++].bytes = static_cast<std::uint32_t>(r);
  }
  return static_cast<std::ptrdiff_t>(done);
}

std::ptrdiff_t sim_system::send_messages(int fd, message_header* messages,
                                         std::size_t count) noexcept {
  std::size_t done = 0;
  for (; done < count; ++done) {
    const std::ptrdiff_t r = send_message(fd, messages[done], 0);
    if (r < 0 && done == 0) return r;
    if (r < 0) break;  // the next call reports the error
    messages[done].bytes = static_cast<std::uint32_t>(r);
  }
  return static_cast<std::ptrdiff_t>(done);
}

/// Moves bytes between two sockets of which one is a pipe end, as splice(2); both ends are updated
/// in one step.
std::ptrdiff_t sim_system::splice(int from, int to, std::size_t bytes, bool) noexcept {
  sim_socket* const target = find(to);
  if (target == nullptr) return -EBADF;
  return on(sim_note::splice, from, [&](sim_socket& source) -> std::ptrdiff_t {
    const bool has_pipe =
        source.pipe_end != sim_pipe_end::none || target->pipe_end != sim_pipe_end::none;
    if (!has_pipe) return -EINVAL;
    const bool at_mark = source.family != AF_UNIX && sim_network::stands_at_boundary(source);
    if (at_mark && source.in.readable() != 0) return -EAGAIN;  // only a read goes past a mark
    const std::ptrdiff_t there = network().waiting(source, bytes);
    if (there <= 0) return there;
    const std::ptrdiff_t room = network().room(*target, static_cast<std::size_t>(there));
    if (room <= 0) return room;
    const std::uint64_t first_byte = target->peer->in.sent();
    char block[4096];
    for (auto left = static_cast<std::size_t>(room); left != 0;) {
      const std::size_t part = std::min(left, sizeof block);
      network().take(source, block, part);
      network().put(*target, block, part);
      left -= part;
    }
    network().take_done(source, bytes, static_cast<std::size_t>(room));
    network().put_done(*target, first_byte, static_cast<std::size_t>(there));
    return room;
  });
}

int sim_system::look_up(const name_question& question, name_sink& sink) noexcept {
  const int result = is_alive() ? sim_look_up(*host_, question, sink) : -ENETDOWN;
  world().note(*host_, sim_note::look_up, question.family, result);
  return result;
}

int sim_system::name_of(const void* address, std::size_t bytes, bool, name_texts& names) noexcept {
  const int result = is_alive() ? sim_name_of(*host_, address, bytes, names) : -ENETDOWN;
  world().note(*host_, sim_note::look_up, -1, result);
  return result;
}

// --- waiting -----------------------------------------------------------------------------------

/// Lets a virtual thread of a shared context wait while the others run. Returns false if the caller
/// is not a virtual thread.
bool sim_system::await(int fd, unsigned events, std::int64_t deadline) noexcept {
  if (runners_ == nullptr) return false;
  struct wanted {
    const sim_system* system;
    int fd;
    unsigned events;
  };
  const wanted what{this, fd, events};
  const auto is_there = [](const void* data) {
    const auto& w = *static_cast<const wanted*>(data);
    const sim_socket* const s = w.system->find(w.fd);
    return s == nullptr || (sim_network::levels(*s) & w.events) != 0;
  };
  return runners_->wait_in_call(is_there, &what, deadline);
}

int sim_system::poll(int fd, unsigned events, std::int64_t deadline) noexcept {
  const unsigned any = events | poll_error | poll_hang_up;
  const bool waited = deadline != INT64_MIN && await(fd, any, deadline);
  return on(sim_note::poll, fd, [&](sim_socket& s) {
    for (;;) {
      const unsigned seen = sim_network::levels(s) & any;
      if (seen != 0 || waited || deadline == INT64_MIN) return static_cast<int>(seen);
      if (world().advance(deadline)) continue;
      if (deadline != INT64_MAX) return 0;
      char message[160];
      std::snprintf(
          message, sizeof message,
          "simulation: a synchronous call on descriptor %d waits and nothing can ever arrive", fd);
      assertion_failed(__FILE__, __LINE__, "an event is on its way", message);
    }
  });
}

}  // namespace beck::detail
