// SPDX-License-Identifier: BSL-1.0
//
// The command line that every peer program accepts, so that run.py can start all of them in the
// same way. A peer ignores options that do not concern its workload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace bench {

struct settings {
  std::string case_name;                    // --case NAME
  std::string backend = "io_uring";         // --backend io_uring|epoll, beck's peers only
  std::uint64_t messages_max = UINT64_MAX;  // --messages N: stop after N messages
  int duration_ms = 300;                    // --ms N: stop after N milliseconds (0: never)
  int cpu = -1;                             // --cpu N: where the measured process runs
  int other_cpu = -1;                       // --other-cpu N: the client, the second process
  std::size_t pairs = 100;                  // --pairs N: socket pairs of the ping-pong
  unsigned port = 0;                        // --port N: of the server that clients call
  std::string path;                         // --path PATH: of its UNIX socket
  bool lazy = false;                        // --lazy: raw ring peers arm receives lazily

  // For beck's peers only, for docs/mechanisms.md: how small receives are armed on io_uring, and
  // whether reads are attempted one turn late.
  std::string arming = "lazy";  // --arming lazy|eager|none
  bool speculation = true;      // --no-speculation
  bool batched_sends = true;    // --no-batched-sends
  int busy_poll_us = 0;         // --busy-poll N: polls for N microseconds before it sleeps

  // Parses the arguments. If they are wrong, prints the error and ends the program with status 2.
  static settings from_arguments(int argc, char** argv);
};

}  // namespace bench
