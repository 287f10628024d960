// SPDX-License-Identifier: BSL-1.0
//
// The server of the files, its log, and what SIGHUP renews.
#include "serving.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <beck/coro/co_spawn.hpp>
#include <beck/http/access_log.hpp>
#include <beck/http/metrics.hpp>
#include <beck/http/per_context.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <beck/http/static_files.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/signal_set.hpp>
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

/// Opens the access log. Throws failure.
http::access_log open_log(const settings& asked) {
  try {
    return http::access_log(asked.access_log, {.format = asked.format});
  } catch (const beck::io_error& failed) {
    throw failure(errno_text("--access-log " + asked.access_log, failed.code().value()));
  }
}

/// Writes the rest of the log, and says on standard error how many lines were lost, if any.
void close_log(const http::access_log& log) {
  log.close();
  if (log.lost() == 0) return;
  const int last = log.last_error().value();
  const bool is_slow = last == 0 || last == ETIMEDOUT;
  const std::string why = is_slow ? "the log is too slow" : errno_text("the last error", last);
  beck_apps::say(
      fmt::format("beck-serve: {} lines of the access log were lost; {}", log.lost(), why));
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
      log_ = open_log(asked);
      server_.on_finish(*log_);
      server_.on_handshake_failed(*log_);
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
    const int status = http::run(server_, {.contexts = asked_.workers,
                                           .drain_timeout = asked_.drain,
                                           .objects = {renewals},
                                           .on_listening = announce,
                                           .listening_data = this});
    if (log_) close_log(*log_);
    return status;
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
  std::optional<http::access_log> log_;
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
