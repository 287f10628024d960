// SPDX-License-Identifier: BSL-1.0
//
// The echo: a TCP server on the loopback, in a process of its own, and one client process that is
// the same for every server. A case is named CxSIZE: C connections, each with one message of SIZE
// bytes in flight. The benchmark measures the server's CPU time per message. broadcast-CxSIZE: the
// server sends each message, which comes from one client, to all.
#pragma once

#include <cstddef>
#include <string_view>

#include "micro.hpp"

namespace bench {

// Further figures of a server, besides its CPU time. They are in memory shared with the client.
class echo_notes {
 public:
  static constexpr std::size_t count_max = 24;

  // Promises notes. A server that has notes calls this function at its start, adds the notes when
  // the first client has closed, and publishes them.
  void promise() { state_ = state::promised; }
  void add(std::string_view name, double value);
  void publish() { state_ = state::published; }

  // Waits for promised notes; ends the program with a message if they do not come.
  void await() const;
  void add_to(std::vector<report::extra>& extras) const;

 private:
  struct note {
    char name[32];
    double value;
  };
  enum class state { silent, promised, published };

  volatile state state_;
  std::size_t count_;
  note notes_[count_max];
};

struct echo_job {
  int listener;             // bound, listening, in blocking mode
  std::size_t connections;  // the number of clients, which all connect before any sends
  std::size_t message_size;
  std::size_t buffer_size;  // of the one receive buffer that a server keeps per connection
  bool is_broadcast;        // each message goes to all clients, not only to its sender
  echo_notes* notes;
};

// A server: accepts on the listener, sets TCP_NODELAY, and sends all bytes back. When a client
// closes its connection, the server does so too. It never returns: its process is killed when the
// measurement is over.
using echo_server = void (*)(const settings&, const echo_job&);

// Runs the main program of a peer.
int run_echo(int argc, char** argv, echo_server serve);
// The same for a server of WebSocket: the clients ask for the connection, and mask their frames.
// `unmask` is run for the case of that name, which has no traffic; it may be null.
int run_websocket(int argc, char** argv, echo_server serve, void (*unmask)(meter&));

// Sets TCP_NODELAY, for the peers that have only a descriptor.
void set_no_delay(int fd);

}  // namespace bench
