// SPDX-License-Identifier: BSL-1.0
// Objects that outlive their context, which beck itself ends the program for.
#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <string>
#include <thread>

#include <asio.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

namespace outliving_test {

using asio::ip::tcp;

/// A context that writes its log into a text.
struct logging_context {
  std::string log;
  std::unique_ptr<asio::io_context> context = std::make_unique<asio::io_context>(context_options());

  logging_context() {
    context->on_log([](const char* line, void* to) { *static_cast<std::string*>(to) += line; },
                    &log);
  }
  bool has_kept_something() const {
    return log.find("destroyed before its objects") != std::string::npos;
  }
};

}  // namespace outliving_test
using namespace outliving_test;

CONFORMANCE("asio: closed objects may outlive their context") {
  logging_context at;
  tcp::socket socket(*at.context, tcp::v4());
  tcp::acceptor acceptor(*at.context);
  asio::steady_timer timer(*at.context);
  asio::signal_set signals(*at.context);
  socket.close();
  at.context.reset();
  CHECK(at.has_kept_something());
  CHECK(!socket.is_open());
  socket.close();
  CHECK(timer.cancel() == 0);
  signals.cancel();
}

CONFORMANCE("asio: open objects that outlive their context can be closed") {
  logging_context at;
  tcp::acceptor acceptor(*at.context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  tcp::socket a(*at.context);
  a.connect(acceptor.local_endpoint());
  std::array<char, 8> to{};
  bool has_run = false;
  a.async_read_some(asio::buffer(to), [&](asio::error_code, std::size_t) { has_run = true; });
  at.context->poll();
  at.context.reset();
  CHECK(at.has_kept_something());
  CHECK(a.is_open());
  CHECK(a.remote_endpoint() == acceptor.local_endpoint());
  a.close();
  CHECK(!a.is_open());
  CHECK(!has_run);
}

CONFORMANCE("asio: an operation that starts after its context ended does not complete") {
  logging_context at;
  asio::steady_timer timer(*at.context);
  at.context.reset();
  bool has_run = false;
  timer.expires_after(std::chrono::seconds(0));
  timer.async_wait([&](asio::error_code) { has_run = true; });
  timer.cancel();
  CHECK(!has_run);
}

CONFORMANCE("asio: an object may end on another thread, after its context") {
  logging_context at;
  auto socket = std::make_unique<tcp::socket>(*at.context, tcp::v4());
  at.context.reset();
  std::thread([&socket] { socket.reset(); }).join();
  CHECK(socket == nullptr);
}

CONFORMANCE("asio: a context without objects is freed, and says nothing") {
  logging_context at;
  { tcp::socket socket(*at.context, tcp::v4()); }
  at.context.reset();
  CHECK(at.log.empty());
}
