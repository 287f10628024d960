// SPDX-License-Identifier: BSL-1.0
//
// The server of the files, its log, and what SIGHUP renews.
#include "serving.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <beck/coro/co_spawn.hpp>
#include <beck/http/exchange_record.hpp>
#include <beck/http/metrics.hpp>
#include <beck/http/per_context.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <beck/http/static_files.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/signal_set.hpp>
#include <beck/io/system_timer.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "access_log.hpp"
#include "common/listening.hpp"
#include "common/output.hpp"
#include "failure.hpp"
#include "identity.hpp"

namespace beck_serve {
namespace {

namespace http = beck::http;
using beck::ip::tcp;
using beck_apps::text_of;

/// Returns the path of the folder from the root, so that every context opens the same one.
std::string resolved_folder(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real == nullptr) throw failure(errno_text(path, errno));
  const int fd = ::open(real.get(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) throw failure(errno_text(path, errno));
  ::close(fd);
  return real.get();
}

/// Throws failure if another program has the port. Several contexts share it, and then the kernel
/// would let a second server of the same user share it too.
void check_port(const tcp::endpoint& at) {
  if (at.port() == 0) return;
  beck::io_context context;
  tcp::acceptor probe(context);
  beck::error_code ec;
  probe.open(at.protocol(), ec);
  if (ec == std::errc::address_family_not_supported) return;  // then the server listens on IPv4
  if (!ec) probe.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) probe.bind(at, ec);
  if (ec) throw failure(fmt::format("cannot listen on {}: {}", text_of(at), ec.message()));
}

/// Returns the address of a client for the log.
std::string client_text(const beck::ip::address& client) {
  if (client.is_unspecified()) return "unix:";
  return client.to_string();
}

/// Returns the other end of a connection for the log.
std::string peer_text(const tcp::endpoint& peer) {
  return peer.port() != 0 ? text_of(peer) : "unix:";
}

log_entry entry_of(const http::exchange_record& record, std::string_view client,
                   std::string_view peer) {
  log_entry entry;
  entry.client = client;
  entry.peer = peer;
  if (record.request != nullptr) {
    entry.method = record.request->method_text();
    entry.target = record.request->target();
    entry.minor_version = record.request->minor_version();
    entry.referer = record.request->get(http::field::referer);
    entry.user_agent = record.request->get(http::field::user_agent);
  }
  entry.status = record.status;
  entry.sent_bytes = record.response_bytes;
  entry.received_bytes = record.request_bytes;
  entry.time_ns = beck::system_now().nanoseconds();
  entry.duration_ns = record.time.nanoseconds();
  if (record.why != http::refusal::none) entry.refusal = http::text_of(record.why);
  entry.cut = record.cut;
  return entry;
}

log_entry entry_of(const http::handshake_record& record, std::string_view client,
                   std::string_view peer) {
  log_entry entry;
  entry.client = client;
  entry.peer = peer;
  entry.time_ns = beck::system_now().nanoseconds();
  entry.handshake = record.error.message();
  if (!record.error_text.empty()) entry.handshake = std::string(record.error_text);
  return entry;
}

/// Makes the server of the files, and of its own counters if they are asked for. It will lie at
/// `self`.
http::server make_server(const settings& asked, const http::server* self) {
  const http::static_files files(resolved_folder(asked.folder), asked.files);
  if (asked.metrics.empty()) return http::server(files, asked.limits);
  if (asked.metrics.find_first_of("{}") != std::string::npos)
    throw wrong_usage(fmt::format("--metrics {}: a path has no braces", asked.metrics));
  http::router site;
  try {
    site.get(asked.metrics, [self](http::request&, http::response& response) {
      response.set(http::field::content_type, http::metrics_type);
      response.send(http::metrics_text(self->stats()));
    });
    site.mount("/", files);
  } catch (const std::invalid_argument& e) {
    throw wrong_usage(fmt::format("--metrics {}: {}", asked.metrics, e.what()));
  }
  return http::server(std::move(site), asked.limits);
}

/// Calls `function` for each SIGHUP. Each context has one, and the first that is made waits.
class renewal {
 public:
  renewal(beck::io_context& on, std::function<void()> function)
      : context_(&on), signals_(on), function_(std::move(function)) {
    if (function_) signals_.add(SIGHUP);
  }
  beck::task<> start() {
    if (function_) beck::co_spawn(*context_, obey(), beck::detached);
    co_return;
  }

 private:
  beck::task<> obey() {
    for (;;) {
      auto arrived = co_await signals_.async_wait();
      if (arrived.error()) co_return;
      function_();
    }
  }

  beck::io_context* context_;
  beck::signal_set signals_;
  std::function<void()> function_;
};

/// A server on its contexts.
class program {
 public:
  explicit program(const settings& asked)
      : asked_(asked),
        at_(beck_apps::endpoint_of("--host", asked.host, asked.port)),
        server_(make_server(asked, &server_)) {
    if (!asked.certificate.empty()) identity_ = load_identity(asked.certificate, asked.key);
    listen();
    if (!asked.proxies.empty()) believe(asked.proxies);
    if (!asked.access_log.empty()) {
      log_.emplace(asked.access_log, asked.format);
      server_.on_finish([this](const http::exchange_record& r) {
        log_->add(entry_of(r, client_text(r.client), peer_text(r.peer)));
      });
      server_.on_handshake_failed([this](const http::handshake_record& r) {
        log_->add(entry_of(r, client_text(r.peer.address()), peer_text(r.peer)));
      });
    }
  }

  /// Serves until a signal. Returns the status of the process.
  int run() {
    std::atomic<bool> is_first(true);
    http::per_context<renewal> renewals([&](beck::io_context& on) {
      return is_first.exchange(false) ? renewal(on, [this] { renew(); }) : renewal(on, {});
    });
    const auto announce = [](void* self) {
      beck_apps::announce(fmt::format("listening: {}", static_cast<const program*>(self)->place()));
    };
    return http::run(server_, {.contexts = asked_.workers,
                               .drain_timeout = asked_.drain,
                               .objects = {renewals},
                               .on_listening = announce,
                               .listening_data = this});
  }

 private:
  void listen() {
    beck::stream_layer* const layer = identity_ != nullptr ? &identity_->layer() : nullptr;
    if (server_.listen_inherited(layer) != 0) return;
    if (!asked_.unix_path.empty()) {
      server_.listen(beck::local::stream_protocol::endpoint(asked_.unix_path));
      return;
    }
    check_port(at_);
    const bool everywhere = asked_.host == "*";
    if (layer != nullptr) {
      everywhere ? server_.listen(asked_.port, *layer) : server_.listen(at_, *layer);
    } else {
      everywhere ? server_.listen(asked_.port) : server_.listen(at_);
    }
  }

  void believe(const std::string& proxies) {
    try {
      server_.behind_proxy(proxies);
    } catch (const std::invalid_argument& e) {
      throw wrong_usage(fmt::format("--proxy {}: {}", proxies, e.what()));
    }
  }

  /// Returns where the server listens, for people and scripts.
  std::string place() const {
    const tcp::endpoint at = server_.endpoint();
    if (at.port() != 0)
      return fmt::format("{}://{}/", identity_ != nullptr ? "https" : "http", text_of(at));
    return "unix:" + asked_.unix_path;  // no path: a UNIX socket that was inherited
  }

  void renew() {
    if (log_) log_->reopen();
    reload_identity();
  }

  /// Reads certificate and key again; the old ones stay if that fails.
  void reload_identity() {
    if (identity_ == nullptr) return;
    try {
      identity_->reload();
    } catch (const std::exception& e) {
      beck_apps::say(fmt::format("beck-serve: the old certificate stays: {}", e.what()));
    }
  }

  const settings& asked_;
  tcp::endpoint at_;
  std::optional<access_log> log_;       // outlives what adds to it
  std::unique_ptr<identity> identity_;  // outlives the server's connections
  http::server server_;
};

}  // namespace

int serve(const settings& asked) {
  beck_apps::raise_descriptor_limit();
  program whole(asked);
  return whole.run();
}

}  // namespace beck_serve
