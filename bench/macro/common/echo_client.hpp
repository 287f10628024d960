// SPDX-License-Identifier: BSL-1.0
//
// The client of the echo: one process with edge-triggered epoll. It sends a message on every
// connection, checks every byte of each answer, and sends the next as soon as one is complete.
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

class echo_client {
 public:
  echo_client(std::size_t connections, std::size_t message_size);
  echo_client(const echo_client&) = delete;
  echo_client& operator=(const echo_client&) = delete;
  ~echo_client();

  // Connects all sockets; returns when each has echoed one message, so that the server has
  // accepted them all and its memory is warm.
  void connect(const sockaddr_in& server);

  // Keeps one message in flight on each connection until `over`, called with the number of answers,
  // returns true; then receives the answers that are still missing. Returns the number of answers.
  template <class Over>
  std::uint64_t exchange(Over over) {
    std::uint64_t answers = 0;
    for (connection& c : connections_) send_next(c);
    std::size_t in_flight = connections_.size();
    bool stopping = false;
    while (in_flight > 0) {
      for (connection* c : wait()) {
        if (!receive(*c)) continue;
        ++answers;
        if (!stopping && over(answers)) stopping = true;
        if (stopping)
          --in_flight;
        else
          send_next(*c);
      }
    }
    return answers;
  }

 private:
  struct connection {
    int fd;
    std::size_t position;  // where in the pattern the message in flight begins
    std::size_t sent;      // how much of it was sent, and came back
    std::size_t received;
  };

  void send_next(connection& c);
  void send_rest(connection& c);
  [[nodiscard]] bool receive(connection& c);  // returns whether the answer is complete
  const std::vector<connection*>& wait();     // returns the connections with data to read

  std::size_t message_size_;
  std::vector<unsigned char> pattern_;
  std::vector<unsigned char> buffer_;
  std::vector<connection> connections_;
  std::vector<connection*> readable_;
  int poller_;
};

}  // namespace bench
