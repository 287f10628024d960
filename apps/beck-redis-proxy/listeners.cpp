// SPDX-License-Identifier: BSL-1.0
//
// Accepted sockets inherit the options of the listening one.
#include "listeners.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/failure.hpp"
#include "common/listening.hpp"

namespace beck_redis_proxy {
namespace {

using beck::ip::tcp;
using local = beck::local::stream_protocol;

/// As redis-server: clients whose host is gone are found after this time and some probes.
constexpr int keep_alive_s = 300;

[[noreturn]] void fail(const std::string& place, const beck::error_code& ec) {
  throw beck_apps::failure(fmt::format("cannot listen on {}: {}", place, ec.message()));
}

/// Removes the file of a socket on which no process listens. Returns whether it did.
bool remove_stale(const std::string& path, const beck::any_io_executor& on) {
  struct stat facts;
  if (::lstat(path.c_str(), &facts) != 0 || !S_ISSOCK(facts.st_mode)) return false;
  beck::error_code ec;
  local::socket probe(on);
  probe.open(local(), ec);
  if (!ec) probe.non_blocking(true, ec);  // the backlog of a socket in use may be full
  if (!ec) probe.connect(local::endpoint(path), ec);
  return ec == beck::error::connection_refused && ::unlink(path.c_str()) == 0;
}

}  // namespace

listeners::listeners(beck::io_context& context, const settings& asked)
    : tcp_(context), local_(context) {
  if (asked.at) open_tcp(*asked.at);
  if (!asked.unix_path.empty()) open_local(asked.unix_path);
}

listeners::~listeners() { close(); }

void listeners::open_local(const std::string& path) {
  const local::endpoint at(path);
  beck::error_code ec;
  local_.open(local(), ec);
  if (!ec) local_.bind(at, ec);
  if (ec == beck::error::address_in_use && remove_stale(path, local_.get_executor()))
    local_.bind(at, ec);
  if (!ec) local_.listen(beck::socket_base::max_listen_connections, ec);
  if (ec) fail("unix://" + path, ec);
  path_ = path;
  struct stat facts;
  if (::lstat(path_.c_str(), &facts) != 0) return;
  device_ = facts.st_dev;
  number_ = facts.st_ino;
}

void listeners::open_tcp(const tcp::endpoint& wanted) {
  beck::error_code ec;
  tcp::endpoint at = wanted;
  tcp_.open(at.protocol(), ec);
  if (ec == std::errc::address_family_not_supported && at.address().is_unspecified()) {
    at = tcp::endpoint(tcp::v4(), at.port());
    tcp_.open(at.protocol(), ec);
  }
  if (!ec) tcp_.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) tcp_.set_option(tcp::no_delay(true), ec);
  if (!ec) tcp_.set_option(tcp::acceptor::keep_alive(true), ec);
  if (!ec) tcp_.set_option(tcp::keep_alive_idle(keep_alive_s), ec);
  if (!ec) tcp_.bind(at, ec);
  if (!ec) tcp_.listen(beck::socket_base::max_listen_connections, ec);
  if (ec) fail("tcp://" + beck_apps::text_of(wanted), ec);
}

void listeners::close() {
  struct stat facts;  // the socket still listens, so no other program takes its file for a dead one
  if (local_.is_open() && ::lstat(path_.c_str(), &facts) == 0 && facts.st_dev == device_ &&
      facts.st_ino == number_)
    ::unlink(path_.c_str());
  local_.close();
  tcp_.close();
}

std::string listeners::places() const {
  std::string text;
  if (tcp_.is_open()) text = "tcp://" + beck_apps::text_of(tcp_.local_endpoint());
  if (!path_.empty()) text.append(text.empty() ? "" : " ").append("unix://").append(path_);
  return text;
}

}  // namespace beck_redis_proxy
