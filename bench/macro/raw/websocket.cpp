// SPDX-License-Identifier: BSL-1.0
//
// Echo of WebSocket messages on bare edge-triggered epoll: a fixed answer to the handshake, one
// recv per edge into one buffer per connection, the mask removed eight bytes at a time, and the
// head of the answer written in front of the message where it lies. It knows that a client has one
// message in flight, in one frame of less than 64 KiB. A broadcast is a send on each connection.
#include <bit>
#include <cstring>
#include <string_view>
#include <vector>

#include "../common/unmask.hpp"
#include "edge_loop.hpp"

namespace {

constexpr std::size_t head_max = 14;
constexpr std::string_view handshake =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

struct connection;
std::vector<connection*> members;  // all that are open, for broadcasts

struct connection : raw::edge_connection {
  bool open = false;      // the handshake is over
  std::size_t bytes = 0;  // received

  ~connection() { std::erase(members, this); }
};

// Removes the mask, whose four bytes are `key` as they lie in the frame.
void unmask(char* data, std::size_t size, std::uint32_t key) {
  const std::uint64_t keys = std::uint64_t{key} << 32 | key;
  std::size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    std::uint64_t word;
    std::memcpy(&word, data + at, sizeof word);
    word ^= keys;
    std::memcpy(data + at, &word, sizeof word);
  }
  for (; at < size; ++at, key = std::rotr(key, 8))
    data[at] = static_cast<char>(data[at] ^ static_cast<char>(key));
}

// Sends the answer on every connection. They all have room: the last message has come everywhere.
bool broadcast(connection& c) {
  for (const connection* to : members) {
    const ssize_t n = send(to->fd, c.buffer.get() + c.begin, c.end - c.begin, MSG_NOSIGNAL);
    if (n != static_cast<ssize_t>(c.end - c.begin)) bench::fail_errno("send");
  }
  c.begin = c.end = 0;
  return true;
}

// Turns a frame of the client that is whole into the answer. Returns false if it is not whole.
bool turn_around(connection& c) {
  char* const data = c.buffer.get();
  const auto byte = [data](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(data[i]));
  };
  if (c.bytes < 8) return false;
  const bool is_short = (byte(1) & 127) < 126;
  const std::size_t size = is_short ? byte(1) & 127 : byte(2) << 8 | byte(3);
  const std::size_t head = is_short ? 6 : 8;
  if (c.bytes < head + size) return false;
  std::uint32_t key;
  std::memcpy(&key, data + head - 4, sizeof key);
  unmask(data + head, size, key);
  const std::size_t answer = is_short ? 2 : 4;
  char front[4] = {'\x82', static_cast<char>(is_short ? size : 126), data[2], data[3]};
  c.begin = head - answer;
  c.end = head + size;
  std::memcpy(data + c.begin, front, answer);
  c.bytes = 0;
  return true;
}

bool receive(connection& c, std::size_t room, bool to_all) {
  const ssize_t n = recv(c.fd, c.buffer.get() + c.bytes, room - c.bytes, 0);
  if (n < 0 && errno == EAGAIN) return true;
  if (n <= 0) return false;
  c.bytes += static_cast<std::size_t>(n);
  if (!c.open) {
    if (std::string_view(c.buffer.get(), c.bytes).find("\r\n\r\n") == std::string_view::npos)
      return true;
    c.open = true;
    c.bytes = 0;
    members.push_back(&c);
    return send(c.fd, handshake.data(), handshake.size(), MSG_NOSIGNAL) > 0;
  }
  return !turn_around(c) || (to_all ? broadcast(c) : send_rest(c));
}

void serve(const bench::settings&, const bench::echo_job& job) {
  const std::size_t room = job.buffer_size + head_max;
  raw::serve_edges<connection>(job.listener, room,
                               [&](connection& c) { return receive(c, room, job.is_broadcast); });
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_websocket(argc, argv, serve,
                              [](bench::meter& m) { bench::unmask_messages(m, unmask); });
}
