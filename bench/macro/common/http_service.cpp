// SPDX-License-Identifier: BSL-1.0
//
// The command line, the head of the response, and a listener for the servers that make none.
#include "http_service.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "measure.hpp"

namespace bench {
namespace {

constexpr int backlog = 4096;

[[noreturn]] void service_usage_error(const char* what, std::string_view argument) {
  std::fprintf(stderr,
               "%s: %.*s\n"
               "options: [--backend io_uring|epoll] [--body N] [--file PATH] [--form NAME]\n"
               "         [--close]\n",
               what, static_cast<int>(argument.size()), argument.data());
  std::exit(2);
}

}  // namespace

http_service http_service::from_arguments(int argc, char** argv) {
  http_service s;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--close") {
      s.close = true;
      continue;
    }
    if (i + 1 == argc) service_usage_error("unknown option, or its value is missing", option);
    const char* const value = argv[++i];
    if (option == "--backend")
      s.backend = value;
    else if (option == "--body")
      s.body_bytes = std::strtoul(value, nullptr, 10);
    else if (option == "--file")
      s.file = value;
    else if (option == "--form")
      s.form = value;
    else
      service_usage_error("unknown option", option);
  }
  if (s.backend != "io_uring" && s.backend != "epoll")
    service_usage_error("unknown backend", s.backend);
  return s;
}

std::string http_service::body() const {
  std::string text(body_bytes, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 26);
  return text;
}

std::string_view http_date() {
  static char text[64];
  static std::size_t size = 0;
  static std::time_t made_at = 0;
  const std::time_t now = std::time(nullptr);
  if (now != made_at) {
    tm parts{};
    gmtime_r(&now, &parts);
    size = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    made_at = now;
  }
  return {text, size};
}

std::string http_head(const http_service& s, std::size_t length) {
  std::string text("HTTP/1.1 200 OK\r\nServer: ");
  text.append(http_server_name).append("\r\nDate: ").append(http_date());
  text.append("\r\nContent-Type: ").append(http_content_type);
  text.append("\r\nContent-Length: ").append(std::to_string(length)).append("\r\n");
  if (s.close) {
    text.append("Connection: close\r\n\r\n");
  } else {
    text.append(http_filler_name).append(": ").append(http_filler).append("\r\n\r\n");
  }
  return text;
}

int http_listener() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) fail_errno("socket");
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // accepted sockets inherit it
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) fail_errno("bind");
  if (listen(fd, backlog) != 0) fail_errno("listen");
  return fd;
}

void http_ready(unsigned port) {
  std::printf("listening on port %u\n", port);
  std::fflush(stdout);
}

void http_ready_on(int listener) {
  sockaddr_in at{};
  socklen_t size = sizeof at;
  if (getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size) != 0)
    fail_errno("getsockname");
  http_ready(ntohs(at.sin_port));
}

}  // namespace bench
