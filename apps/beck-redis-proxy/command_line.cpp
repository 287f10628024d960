// SPDX-License-Identifier: BSL-1.0
//
// The options. Values are checked here, so that the rest may rely on them.
#include "command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <beck/base/version.hpp>
#include <beck/net/local.hpp>
#include <string>

#include "common/failure.hpp"
#include "common/listening.hpp"
#include "common/unit_text.hpp"
#include "common/usage.hpp"

namespace beck_redis_proxy {
namespace {

using beck_apps::wrong_usage;

const char* const description =
    "Stands between an application and a Redis server: each client gets a connection to the "
    "server\n"
    "of its own, and every byte is relayed. In front of a cluster commands go to the nodes of "
    "their\n"
    "keys. When it accepts connections it prints one line, such as:\n"
    "listening: tcp://127.0.0.1:6380";

const char* const footer =
    "Signals: TERM, INT, HUP let clients finish, a second one cuts them.\n"
    "Exit status: 0 stopped by a signal, 1 failed, 2 wrong usage. More: man beck-redis-proxy.";

/// Options whose values are kept as texts until all of the command line was read.
struct texts {
  std::string server = "redis://127.0.0.1:6379";
  std::string host = "127.0.0.1";
  std::uint16_t port = 6380;
  std::string metrics;
  std::string connect = "5s";
  std::string hold = "10s";
  std::string idle = "0s";
  std::string drain = "10s";
};

/// Returns the endpoint of "[ADDRESS:]PORT".
beck::ip::tcp::endpoint metrics_endpoint(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::string host = colon == text.npos ? "127.0.0.1" : text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  constexpr beck_apps::unit numbers[] = {{"", 1}};
  std::uint64_t port = 0;
  if (!beck_apps::read_number(text.substr(colon + 1), numbers, 65'535, port))
    throw wrong_usage(fmt::format("--metrics {}: the port is not a number from 0 to 65535", text));
  return beck_apps::endpoint_of("--metrics", host, static_cast<std::uint16_t>(port));
}

void check_unix_path(const std::string& path) {
  constexpr std::size_t most = beck::local::socket_path::path_max;
  if (path.empty() || path.size() > most)
    throw wrong_usage(
        fmt::format("--unix {}: the path has {} bytes, not 1 to {}", path, path.size(), most));
  if (const auto byte = control_byte(path); byte)
    throw wrong_usage(fmt::format("--unix: the path has the byte {:#04x}", *byte));
}

void read_times(const texts& given, settings& asked) {
  asked.connect = beck_apps::parse_time("--connect", given.connect);
  if (asked.connect == beck::duration::zero())
    throw wrong_usage(fmt::format("--connect {}: not a time from 1ms to 24h", given.connect));
  asked.hold = beck_apps::parse_time("--hold", given.hold);
  asked.idle = beck_apps::parse_time("--idle", given.idle);
  asked.drain = beck_apps::parse_time("--drain", given.drain);
}

/// Refuses options that mean nothing for this kind of server.
void check_kind(const settings& asked, bool has_hold) {
  const bool is_cluster = asked.server.kind == server_kind::cluster;
  if (is_cluster && asked.is_shared)
    throw wrong_usage("--shared: in front of a cluster all clients share its connections anyway");
  if (!is_cluster && has_hold) throw wrong_usage("--hold: only commands for a cluster wait");
}

}  // namespace

std::optional<settings> parse_command_line(int argc, char** argv, int& status) {
  settings asked;
  texts given;
  CLI::App app(description, "beck-redis-proxy");
  app.footer(footer);
  app.set_version_flag("--version", std::string("beck-redis-proxy ") + beck::version());
  const auto* const host =
      app.add_option("--host", given.host, "The address to listen on; * is all of them")
          ->type_name("ADDRESS")
          ->capture_default_str();
  const auto* const port = app.add_option("--port", given.port, "The port; 0 takes a free one")
                               ->check(CLI::Range(0, 65'535))
                               ->type_name("PORT")
                               ->capture_default_str();
  const auto* const unix_path =
      app.add_option("--unix", asked.unix_path,
                     "Listen on a UNIX socket at PATH; on TCP too if --host or --port is given")
          ->type_name("PATH");
  app.add_option("--max-clients", asked.clients_max, "The most clients at a time")
      ->check(CLI::Range(std::size_t{1}, clients_most))
      ->type_name("N")
      ->default_str(std::to_string(clients_usual));
  auto* const shared = app.add_flag(
      "--shared", asked.is_shared,
      "Send the commands of all clients over a few connections, as far as that is possible");
  app.add_option("--connections", asked.shared_connections, "How many connections --shared makes")
      ->needs(shared)
      ->check(CLI::Range(std::size_t{1}, shared_connections_most))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--connect", given.connect, "How long a connection to the server may take")
      ->type_name("TIME")
      ->capture_default_str();
  const auto* const hold =
      app.add_option("--hold", given.hold,
                     "How long commands for a cluster wait for a node, or for a slot that moves")
          ->type_name("TIME")
          ->capture_default_str();
  app.add_option("--idle", given.idle, "Close clients without traffic for TIME; 0s: never")
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--drain", given.drain, "How long clients may take to finish after a signal")
      ->type_name("TIME")
      ->capture_default_str();
  const auto* const metrics =
      app.add_option("--metrics", given.metrics, "Answer http://ADDRESS:PORT/metrics with counters")
          ->type_name("[ADDRESS:]PORT");
  app.add_option("SERVER", given.server,
                 "redis://HOST[:PORT], unix:///PATH, redis+sentinel://HOST[:PORT],.../NAME, or "
                 "redis+cluster://[USER:PASSWORD@]HOST[:PORT],...")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    status = beck_apps::print_usage(app, e);
    return std::nullopt;
  }
  asked.server = parse_server(given.server);
  if (unix_path->count() != 0) check_unix_path(asked.unix_path);
  if (unix_path->count() == 0 || host->count() + port->count() != 0)
    asked.at = beck_apps::endpoint_of("--host", given.host, given.port);
  if (metrics->count() != 0) asked.metrics = metrics_endpoint(given.metrics);
  read_times(given, asked);
  check_kind(asked, hold->count() != 0);
  return asked;
}

}  // namespace beck_redis_proxy
