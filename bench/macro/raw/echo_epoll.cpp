// SPDX-License-Identifier: BSL-1.0
//
// Echo on bare edge-triggered epoll, with one buffer per connection and one recv per edge. That is
// enough because a client has one message in flight, which fits the buffer: a full buffer never
// leaves bytes behind.
#include "edge_loop.hpp"

namespace {

struct connection : raw::edge_connection {};

void serve(const bench::settings&, const bench::echo_job& job) {
  raw::serve_edges<connection>(job.listener, job.buffer_size, [&](connection& c) {
    const ssize_t n = recv(c.fd, c.buffer.get(), job.buffer_size, 0);
    if (n < 0 && errno == EAGAIN) return true;
    if (n <= 0) return false;
    c.begin = 0;
    c.end = static_cast<std::size_t>(n);
    return send_rest(c);
  });
}

}  // namespace

int main(int argc, char** argv) { return bench::run_echo(argc, argv, serve); }
