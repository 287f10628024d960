// SPDX-License-Identifier: BSL-1.0
// Signal sets, and resolvers with numeric names.
#include "rows.hpp"

#include <csignal>
#include <optional>

namespace semantics::signals {

using asio::signal_set;
using asio::ip::tcp;

/// Adds the error and the name of a signal.
auto note_signal(trace& words, const char* word) {
  return [&words, word](asio::error_code ec, int number) {
    const char* name = number == SIGUSR1 ? "USR1" : number == SIGUSR2 ? "USR2" : "0";
    words << (std::string(word) + ":" + name_of(ec) + ":" + name);
  };
}

ROW("signals: one that is raised while a wait is there") {
  asio::io_context context;
  signal_set signals(context, SIGUSR1);
  trace words;
  signals.async_wait(note_signal(words, "a"));
  std::raise(SIGUSR1);
  context.run();
  return words;
}
ROW("signals: one that is raised before the wait") {
  asio::io_context context;
  signal_set signals(context, SIGUSR1);
  trace words;
  std::raise(SIGUSR1);
  signals.async_wait(note_signal(words, "a"));
  context.run();
  return words;
}
ROW("signals: two of a number before a wait") {
  asio::io_context context;
  signal_set signals(context, SIGUSR1);
  trace words;
  std::raise(SIGUSR1);
  std::raise(SIGUSR1);
  signals.async_wait(note_signal(words, "a"));
  context.run();
  context.restart();
  signals.async_wait(note_signal(words, "b"));
  context.poll();
  context.poll();
  return words;
}
ROW("signals: two numbers before the waits") {
  asio::io_context context;
  signal_set signals(context, SIGUSR1, SIGUSR2);
  trace words;
  std::raise(SIGUSR1);
  std::raise(SIGUSR2);
  signals.async_wait(note_signal(words, "a"));
  signals.async_wait(note_signal(words, "b"));
  context.run();
  return words;
}
ROW("signals: two waits, one signal") {
  asio::io_context context;
  signal_set signals(context, SIGUSR1);
  trace words;
  signals.async_wait(note_signal(words, "a"));
  signals.async_wait(note_signal(words, "b"));
  std::raise(SIGUSR1);
  context.run_one();
  signals.cancel();
  context.run();
  return words;
}
ROW("signals: two sets, one signal") {
  asio::io_context context;
  signal_set one(context, SIGUSR1), two(context, SIGUSR1);
  trace words;
  one.async_wait(note_signal(words, "signal"));
  two.async_wait(note_signal(words, "signal"));
  std::raise(SIGUSR1);
  context.run();
  return words;
}
ROW("signals: cancel") {
  asio::io_context context;
  signal_set signals(context, SIGUSR1);
  trace words;
  signals.async_wait(note_signal(words, "a"));
  signals.async_wait(note_signal(words, "b"));
  signals.cancel();
  words << "cancelled" << context.run();
  return words;
}
ROW("signals: destroyed with a wait") {
  asio::io_context context;
  trace words;
  std::optional<signal_set> signals(std::in_place, context, SIGUSR1);
  signals->async_wait(note_signal(words, "a"));
  signals.reset();
  context.run();
  return words;
}
ROW("signals: clear leaves the wait") {
  asio::io_context context;
  signal_set signals(context, SIGUSR1);
  trace words;
  signals.async_wait(note_signal(words, "a"));
  signals.clear();
  words << context.poll();
  signals.add(SIGUSR2);
  std::raise(SIGUSR2);
  context.run();
  return words;
}
ROW("signals: remove of one that was raised") {
  asio::io_context context;
  signal_set signals(context, SIGUSR1);
  trace words;
  std::raise(SIGUSR1);
  signals.remove(SIGUSR1);
  signals.add(SIGUSR1);
  signals.async_wait(note_signal(words, "a"));
  context.poll();
  return words;
}
ROW("signals: add of invalid numbers") {
  asio::io_context context;
  signal_set signals(context);
  trace words;
  asio::error_code ec;
  for (int number : {-1, 0, 1000, SIGKILL}) {
    signals.add(number, ec);
    words << ec;
  }
  words << thrown_by([&] { signals.add(-1); });
  return words;
}
ROW("signals: add twice, remove one that is not there") {
  asio::io_context context;
  signal_set signals(context, SIGUSR1);
  asio::error_code twice = asio::error::eof, missing = asio::error::eof;
  signals.add(SIGUSR1, twice);
  signals.remove(SIGUSR2, missing);
  return line(twice, missing);
}
ROW("signals: behind the set the signal has its own effect") {
  asio::io_context context;
  signal_set(context, SIGUSR1);
  std::raise(SIGUSR1);
  return "goes on";
}
ROW("signals: a second set keeps the signal when the first ends") {
  asio::io_context context;
  signal_set one(context, SIGUSR1);
  signal_set(context, SIGUSR1);
  trace words;
  one.async_wait(note_signal(words, "a"));
  std::raise(SIGUSR1);
  context.run();
  return words;
}
ROW("signals: without a wait run returns") {
  asio::io_context context;
  signal_set signals(context, SIGUSR1);
  return line(context.run());
}

std::string resolved(const char* host, const char* service, tcp::resolver::flags flags) {
  asio::io_context context;
  tcp::resolver resolver(context);
  asio::error_code ec;
  trace words;
  const auto results = resolver.resolve(host, service, flags, ec);
  words << ec << results.size();
  for (const auto& entry : results) words << entry.endpoint();
  return words;
}
const auto numeric = tcp::resolver::numeric_host | tcp::resolver::numeric_service;

ROW("resolver: a numeric v4 address") { return resolved("127.0.0.1", "80", numeric); }
ROW("resolver: a numeric v6 address") { return resolved("::1", "80", numeric); }
ROW("resolver: a name where only numbers are allowed") {
  return resolved("localhost", "80", numeric);
}
ROW("resolver: a service where only numbers are allowed") {
  return resolved("127.0.0.1", "http", numeric);
}
ROW("resolver: a service's name") {
  return resolved("127.0.0.1", "http", tcp::resolver::numeric_host);
}
ROW("resolver: an unknown service") {
  return resolved("127.0.0.1", "no-such-service", tcp::resolver::numeric_host);
}
ROW("resolver: the category of an unknown service") {
  asio::io_context context;
  tcp::resolver resolver(context);
  asio::error_code ec;
  resolver.resolve("127.0.0.1", "no-such-service", tcp::resolver::numeric_host, ec);
  return line(ec.category().name(), ec == asio::error::service_not_found);
}
ROW("resolver: the category of an unknown host") {
  asio::io_context context;
  tcp::resolver resolver(context);
  asio::error_code ec;
  resolver.resolve("no name", "80", numeric, ec);
  return line(ec.category().name(), ec == asio::error::host_not_found);
}
ROW("resolver: an empty service") { return resolved("127.0.0.1", "", numeric); }
ROW("resolver: a port out of range") { return resolved("127.0.0.1", "70000", numeric); }
ROW("resolver: a short v4 address") { return resolved("127.1", "80", numeric); }
ROW("resolver: an empty host, passive") {
  asio::io_context context;
  tcp::resolver resolver(context);
  asio::error_code ec;
  const auto results = resolver.resolve(tcp::v4(), "", "80", tcp::resolver::passive | numeric, ec);
  return line(ec, results.size(), results.begin()->endpoint());
}
ROW("resolver: an empty host") {
  asio::io_context context;
  tcp::resolver resolver(context);
  asio::error_code ec;
  const auto results = resolver.resolve(tcp::v4(), "", "80", numeric, ec);
  return line(ec, results.size(), results.begin()->endpoint());
}
ROW("resolver: an address of the other protocol") {
  asio::io_context context;
  tcp::resolver resolver(context);
  asio::error_code ec;
  resolver.resolve(tcp::v6(), "127.0.0.1", "80", numeric, ec);
  return line(ec != asio::error_code());
}
ROW("resolver: entries have the names that were asked for") {
  asio::io_context context;
  tcp::resolver resolver(context);
  const auto results = resolver.resolve("127.0.0.1", "80", numeric);
  const tcp::endpoint place = *results.begin();
  return line(results.begin()->host_name(), results.begin()->service_name(), place,
              results.empty());
}
ROW("resolver: default results") {
  const tcp::resolver::results_type none;
  return line(none.size(), none.empty(), none.begin() == none.end());
}
ROW("resolver: results of an error throw") {
  asio::io_context context;
  tcp::resolver resolver(context);
  return thrown_by([&] { resolver.resolve("no name", "80", numeric); });
}
ROW("resolver: an operation") {
  asio::io_context context;
  tcp::resolver resolver(context);
  trace words;
  resolver.async_resolve("127.0.0.1", "80", numeric,
                         [&](asio::error_code ec, tcp::resolver::results_type results) {
                           words << ec << results.size() << results.begin()->endpoint();
                         });
  words << "started" << context.run();
  return words;
}
ROW("resolver: an operation that is cancelled before run") {
  asio::io_context context;
  tcp::resolver resolver(context);
  trace words;
  resolver.async_resolve("no name", "80", numeric,
                         [&](asio::error_code ec, tcp::resolver::results_type results) {
                           words << ec << results.size();
                         });
  resolver.cancel();
  context.run();
  return words;
}
ROW("resolver: destroyed with an operation") {
  asio::io_context context;
  trace words;
  {
    tcp::resolver resolver(context);
    resolver.async_resolve("no name", "80", numeric,
                           [&](asio::error_code ec, tcp::resolver::results_type) { words << ec; });
  }
  context.run();
  return words;
}
ROW("resolver: the name of an endpoint") {
  asio::io_context context;
  tcp::resolver resolver(context);
  asio::error_code ec;
  const auto results = resolver.resolve(tcp::endpoint(asio::ip::address_v4::loopback(), 1), ec);
  return line(ec, results.size(), results.begin()->endpoint());
}

}  // namespace semantics::signals
