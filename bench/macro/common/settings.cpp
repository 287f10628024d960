// SPDX-License-Identifier: BSL-1.0
//
// Parses the options by hand: they are too few for a library, which every peer would compile.
#include "settings.hpp"

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace bench {
namespace {

[[noreturn]] void usage_error(const char* what, std::string_view argument) {
  std::fprintf(stderr,
               "%s: %.*s\n"
               "options: --case NAME [--backend io_uring|epoll] [--messages N] [--ms N]\n"
               "         [--cpu N] [--other-cpu N] [--pairs N] [--port N] [--path PATH] [--lazy]\n"
               "         [--arming lazy|eager|none] [--no-speculation]\n"
               "         [--no-batched-sends]\n",
               what, static_cast<int>(argument.size()), argument.data());
  std::exit(2);
}

std::uint64_t number(std::string_view option, const char* text, std::uint64_t max) {
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0' || value > max) usage_error("not a number in range", option);
  return value;
}

int small_number(std::string_view option, const char* text) {
  return static_cast<int>(number(option, text, 1'000'000));
}

}  // namespace

settings settings::from_arguments(int argc, char** argv) {
  settings s;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--lazy") {
      s.lazy = true;
      continue;
    }
    if (option == "--no-speculation" || option == "--no-batched-sends") {
      (option == "--no-speculation" ? s.speculation : s.batched_sends) = false;
      continue;
    }
    if (i + 1 == argc) usage_error("unknown option, or its value is missing", option);
    const char* value = argv[++i];
    if (option == "--case")
      s.case_name = value;
    else if (option == "--backend")
      s.backend = value;
    else if (option == "--arming")
      s.arming = value;
    else if (option == "--messages")
      s.messages_max = number(option, value, std::numeric_limits<std::uint64_t>::max());
    else if (option == "--ms")
      s.duration_ms = small_number(option, value);
    else if (option == "--cpu")
      s.cpu = small_number(option, value);
    else if (option == "--other-cpu")
      s.other_cpu = small_number(option, value);
    else if (option == "--busy-poll")
      s.busy_poll_us = small_number(option, value);
    else if (option == "--port")
      s.port = static_cast<unsigned>(number(option, value, 65'535));
    else if (option == "--path")
      s.path = value;
    else if (option == "--pairs")
      s.pairs = static_cast<std::size_t>(small_number(option, value));
    else
      usage_error("unknown option", option);
  }
  if (s.case_name.empty()) usage_error("missing option", "--case");
  if (s.backend != "io_uring" && s.backend != "epoll") usage_error("unknown backend", s.backend);
  if (s.arming != "lazy" && s.arming != "eager" && s.arming != "none")
    usage_error("unknown arming", s.arming);
  if (s.duration_ms == 0 && s.messages_max == UINT64_MAX)
    usage_error("a run needs a bound", "--ms 0 without --messages");
  return s;
}

}  // namespace bench
