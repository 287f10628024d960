// SPDX-License-Identifier: BSL-1.0
// Prints each row: its name, a tab, its text. Each is observed in a process of its own, so that a
// row that hangs or ends the program is an observation, too.
#include "rows.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <future>
#include <iostream>
#include <map>
#include <typeinfo>

namespace semantics {

namespace {

std::map<std::string, observation>& table() {
  static std::map<std::string, observation> rows;
  return rows;
}

struct named_error {
  asio::error_code code;
  const char* name;
};

const std::vector<named_error>& errors() {
  namespace error = asio::error;
  static const std::vector<named_error> all = {
      {error::operation_aborted, "operation_aborted"},
      {error::eof, "eof"},
      {error::not_found, "not_found"},
      {error::already_open, "already_open"},
      {error::connection_refused, "connection_refused"},
      {error::connection_reset, "connection_reset"},
      {error::connection_aborted, "connection_aborted"},
      {error::broken_pipe, "broken_pipe"},
      {error::bad_descriptor, "bad_descriptor"},
      {error::invalid_argument, "invalid_argument"},
      {error::would_block, "would_block"},
      {error::address_in_use, "address_in_use"},
      {error::already_connected, "already_connected"},
      {error::already_started, "already_started"},
      {error::in_progress, "in_progress"},
      {error::not_connected, "not_connected"},
      {error::not_socket, "not_socket"},
      {error::timed_out, "timed_out"},
      {error::message_size, "message_size"},
      {error::name_too_long, "name_too_long"},
      {error::no_descriptors, "no_descriptors"},
      {error::no_protocol_option, "no_protocol_option"},
      {error::operation_not_supported, "operation_not_supported"},
      {error::address_family_not_supported, "address_family_not_supported"},
      {error::host_not_found, "host_not_found"},
      {error::host_not_found_try_again, "host_not_found_try_again"},
      {error::service_not_found, "service_not_found"},
      {error::network_unreachable, "network_unreachable"},
      {error::access_denied, "access_denied"},
      {error::fault, "fault"},
  };
  return all;
}

std::string observe_in_child(observation observe) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    ::fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    ::alarm(10);
    std::string text;
    try {
      text = observe();
    } catch (...) {
      text = "the row throws: " + kind_of(std::current_exception());
    }
    const bool written = ::write(ends[1], text.data(), text.size()) == ssize_t(text.size());
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  char part[512];
  for (ssize_t n = 0; (n = ::read(ends[0], part, sizeof part)) > 0;) text.append(part, size_t(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return number == SIGALRM ? "does not end"
                             : "ends the program: SIG" + std::string(::sigabbrev_np(number));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : "ends the program";
}

}  // namespace

bool add(const char* name, observation observe) {
  if (!table().emplace(name, observe).second) throw std::logic_error(name);
  return true;
}

std::string name_of(const asio::error_code& ec) {
  if (!ec) return "ok";
  for (const named_error& each : errors()) {
    if (ec == each.code) return each.name;
  }
  if (ec == asio::error::not_found) return "not_found";
  const bool is_system = ec.category() == asio::error::get_system_category();
  return (is_system ? "system" : std::string(ec.category().name())) + ":" +
         std::to_string(ec.value()) + ":" + ec.message();
}

std::string kind_of(std::exception_ptr thrown) {
  if (!thrown) return "none";
  try {
    std::rethrow_exception(thrown);
  } catch (const asio::ip::bad_address_cast&) {
    return "bad_address_cast";
  } catch (const asio::invalid_service_owner&) {
    return "invalid_service_owner";
  } catch (const std::future_error& e) {
    return "future_error: " + e.code().message();
  } catch (const std::system_error& e) {
    return "system_error " + name_of(e.code());
  } catch (const std::length_error&) {
    return "length_error";
  } catch (const std::out_of_range&) {
    return "out_of_range";
  } catch (const std::invalid_argument&) {
    return "invalid_argument";
  } catch (const std::logic_error&) {
    return "logic_error";
  } catch (const std::runtime_error& e) {
    return std::string("runtime_error ") + e.what();
  } catch (const std::bad_cast&) {
    return "bad_cast";
  } catch (const std::exception&) {
    return "exception";
  } catch (...) {
    return "an exception of another class";
  }
}

}  // namespace semantics

int main() {
  for (const auto& [name, observe] : semantics::table()) {
    std::cout << name << '\t' << semantics::observe_in_child(observe) << std::endl;
  }
}
