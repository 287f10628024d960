// SPDX-License-Identifier: BSL-1.0
// Lines of a trace: "seconds since the world began, host, call(descriptor) = result".
#include "io/sim/sim_trace.hpp"

#include <cstdio>
#include <string>

#include <beck/base/error.hpp>

#include "io/sim/sim_world.hpp"
#include "io/system/system.hpp"

namespace beck::detail {
namespace {

const char* to_text(sim_note what) noexcept {
  switch (what) {
    case sim_note::open:
      return "socket";
    case sim_note::pair:
      return "socketpair";
    case sim_note::close:
      return "close";
    case sim_note::bind:
      return "bind";
    case sim_note::listen:
      return "listen";
    case sim_note::shutdown:
      return "shutdown";
    case sim_note::set_option:
      return "setsockopt";
    case sim_note::receive:
      return "receive";
    case sim_note::send:
      return "send";
    case sim_note::accept:
      return "accept";
    case sim_note::connect:
      return "connect";
    case sim_note::pending_error:
      return "pending_error";
    case sim_note::poll:
      return "poll";
    case sim_note::query:
      return "query";
    case sim_note::file_open:
      return "open";
    case sim_note::file_read:
      return "pread";
    case sim_note::file_write:
      return "pwrite";
    case sim_note::file_sync:
      return "fsync";
    case sim_note::file_resize:
      return "ftruncate";
    case sim_note::file_rename:
      return "rename";
    case sim_note::file_remove:
      return "unlink";
    case sim_note::file_status:
      return "statx";
    case sim_note::file_list:
      return "getdents";
    case sim_note::signal:
      return "signal";
    case sim_note::job:
      return "blocking_call";
    case sim_note::pipe:
      return "pipe";
    case sim_note::splice:
      return "splice";
    case sim_note::look_up:
      return "look_up";
    case sim_note::event:
    case sim_note::time:
    case sim_note::fault:
    case sim_note::runner:
      break;
  }
  return "event";
}

std::string events_text(std::int64_t events) {
  struct named {
    unsigned event;
    const char* name;
  };
  constexpr named all[] = {{poll_in, " in"},
                           {poll_out, " out"},
                           {poll_error, " error"},
                           {poll_hang_up, " hang_up"},
                           {poll_read_hang_up, " read_hang_up"}};
  std::string text;
  for (const named& n : all) {
    if ((static_cast<unsigned>(events) & n.event) != 0) text += n.name;
  }
  return text.empty() ? " none" : text;
}

}  // namespace

void sim_trace::line(std::int64_t now, const char* text) const {
  char whole[320];
  const std::int64_t since = now - origin_ns_;
  std::snprintf(whole, sizeof whole, "%6lld.%09lld %s",
                static_cast<long long>(since / sim_clock::second_ns),
                static_cast<long long>(since % sim_clock::second_ns), text);
  sink_(whole, data_);
}

void sim_trace::note(std::int64_t now, const sim_host& host, sim_note what, int fd,
                     std::int64_t result) const {
  if (what == sim_note::time) return;
  std::string text = host.name();
  if (what == sim_note::runner) {
    text += " runner " + std::to_string(fd) + ":";
  } else if (what == sim_note::event) {
    text += " event(" + std::to_string(fd) + "):" + events_text(result);
  } else {
    text += std::string(" ") + to_text(what) + "(" + std::to_string(fd) + ") = ";
    if (result < 0) {
      text += make_error(static_cast<int>(result)).message();
    } else {
      text += std::to_string(result);
    }
  }
  line(now, text.c_str());
}

void sim_trace::fault(std::int64_t now, const sim_host* host, sim_fault which) const {
  std::string text = host == nullptr ? "the world" : host->name();
  text += std::string(" fault: ") + detail::to_text(which);
  line(now, text.c_str());
}

void sim_trace::message(std::int64_t now, const char* from, const char* to, const char* what,
                        int fd, std::uint64_t value) const {
  std::string text = std::string(from) + " -> " + to;
  if (fd >= 0) text += "(" + std::to_string(fd) + ")";
  text += std::string(": ") + what;
  if (value != 0) text += " " + std::to_string(value);
  line(now, text.c_str());
}

}  // namespace beck::detail
