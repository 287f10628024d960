// SPDX-License-Identifier: BSL-1.0
//
// The client of the echo: one process with edge-triggered epoll. It sends a message on every
// connection, checks every byte of each answer, and sends the next as soon as one is complete. Its
// messages may have heads, and a connection may begin with a question: then it speaks WebSocket.
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

// What surrounds the messages.
struct echo_framing {
  std::string question = {};     // sent first; the answer to it ends with an empty line
  std::string sent_head = {};    // in front of each message
  std::string answer_head = {};  // in front of each answer
  bool is_broadcast = false;     // what the first connection sends is answered on all
};

// The framing of WebSocket. The key of the mask is 0, so that a message and its answer are the same
// bytes; a server has to unmask them all the same.
echo_framing websocket_framing(std::size_t message_size);

class echo_client {
 public:
  echo_client(std::size_t connections, std::size_t message_size, echo_framing framing);
  echo_client(const echo_client&) = delete;
  echo_client& operator=(const echo_client&) = delete;
  ~echo_client();

  // Connects all sockets; returns when each has received one message, so that the server has
  // accepted them all and its memory is warm.
  void connect(const sockaddr_in& server);

  // Keeps one message in flight on each connection until `over`, called with the number of answers,
  // returns true; then receives the answers that are still missing. Returns the number of answers.
  template <class Over>
  std::uint64_t exchange(Over over) {
    return framing_.is_broadcast ? exchange_broadcasts(over) : exchange_echoes(over);
  }

 private:
  struct connection {
    int fd;
    std::size_t position;  // where in the pattern the message in flight begins
    std::size_t sent;      // how much of it was sent, and came back, with the heads
    std::size_t received;
  };

  template <class Over>
  std::uint64_t exchange_echoes(Over over) {
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

  // Sends a message, and the next one when it has come on every connection.
  template <class Over>
  std::uint64_t exchange_broadcasts(Over over) {
    std::uint64_t answers = 0;
    do {
      expect_next();
      for (std::size_t missing = connections_.size(); missing > 0;)
        for (connection* c : wait()) {
          if (!receive(*c)) continue;
          ++answers;
          --missing;
        }
    } while (!over(answers));
    return answers;
  }

  void send_next(connection& c);
  void expect_next();  // sends on the first connection; the others expect the same
  void send_rest(connection& c);
  void ask(int fd) const;
  [[nodiscard]] bool is_right(const connection& c, std::size_t size) const;
  [[nodiscard]] bool receive(connection& c);  // returns whether the answer is complete
  const std::vector<connection*>& wait();     // returns the connections with data to read

  echo_framing framing_;
  std::size_t message_size_;
  std::size_t sent_size_;    // of a message with its head
  std::size_t answer_size_;  // of an answer with its head
  std::vector<unsigned char> pattern_;
  std::vector<unsigned char> buffer_;
  std::vector<connection> connections_;
  std::vector<connection*> readable_;
  int poller_;
};

}  // namespace bench
