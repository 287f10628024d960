// SPDX-License-Identifier: BSL-1.0
//
// The server and the client that posture.sh talks to.
// usage: posture_peer files DIRECTORY
//            writes the certificates of the tests there
//        posture_peer serve CHAIN KEY [OPTION VALUE]...
//            serves "hello" over https, prints "listening on port N"; SIGHUP reads the files again
//            --identity CHAIN,KEY   --ocsp FILE   --clients ROOTS   --least 1.3   --any-date yes
//        posture_peer get NAME PORT TEXT [OPTION VALUE]...
//            connects to 127.0.0.1, sends TEXT and a line end, prints what comes back, and a line
//            "done VERSION PROTOCOL NAME resumed|whole" or "failed: SENTENCE"; its status is then 1
//            --roots FILE   --lists FILE   --pin HASH   --ocsp yes   --identity CHAIN,KEY
//            --protocols NAMES   --times N   --least 1.3   --most 1.2
#include <beck/coro/co_spawn.hpp>
#include <beck/http/server.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/signal_set.hpp>
#include <beck/net/tcp.hpp>
#include <beck/tls/client_context.hpp>
#include <beck/tls/server_context.hpp>
#include <beck/tls/stream.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tls/contexts.hpp"
#include "tls/identities.hpp"

namespace http = beck::http;
namespace tls = beck::tls;
using beck::ip::tcp;

namespace {

tls::version version_of(std::string_view text) {
  return text == "1.2" ? tls::version::tls_1_2 : tls::version::tls_1_3;
}

/// Calls `set(name, value)` for each option from argv[first] on.
template <class Set>
void read_options(int argc, char** argv, int first, Set set) {
  for (int i = first; i + 1 < argc; i += 2) {
    if (!set(std::string(argv[i]), std::string(argv[i + 1])))
      throw std::invalid_argument(std::string("unknown option: ") + argv[i]);
  }
}

/// Takes "CHAIN,KEY" apart.
std::pair<std::string, std::string> two_files(const std::string& text) {
  const std::size_t comma = text.find(',');
  return {text.substr(0, comma), text.substr(comma + 1)};
}

beck::task<> reload_on_hangup(beck::io_context& ctx, tls::server_context& identity) {
  beck::signal_set hangup(ctx, SIGHUP);
  for (;;) {
    auto got = co_await hangup.async_wait();
    if (got.error()) co_return;
    try {
      identity.reload();
      std::puts("reloaded");
    } catch (const std::exception& e) {
      std::printf("not reloaded: %s\n", e.what());
    }
  }
}

int serve(int argc, char** argv) {
  tls::server_options options;
  tls::authorities clients;
  read_options(argc, argv, 4, [&](const std::string& name, const std::string& value) {
    if (name == "--identity") {
      const auto [chain, key] = two_files(value);
      options.identity(chain, key);
    } else if (name == "--ocsp") {
      options.ocsp(value);
    } else if (name == "--clients") {
      options.clients(tls::authorities().file(value));
    } else if (name == "--least") {
      options.versions(version_of(value), tls::version::tls_1_3);
    } else if (name == "--any-date") {
      options.settings().identities.front().any_date = true;
    } else {
      return false;
    }
    return true;
  });
  beck::io_context ctx;
  tls::server_context identity(argv[2], argv[3], options);
  http::server server([](http::request&, http::response& r) { r.send("hello\n"); });
  server.listen(tcp::endpoint(beck::ip::address_v4::loopback(), 0), identity);
  server.serve().start(ctx, [&](const std::exception_ptr&) { ctx.stop(); });
  while (server.endpoint().port() == 0) ctx.poll();
  std::printf("listening on port %u\n", static_cast<unsigned>(server.endpoint().port()));
  co_spawn(ctx, reload_on_hangup(ctx, identity), beck::detached);
  ctx.run();
  return 0;
}

/// Makes one exchange. Returns whether it succeeded.
beck::task<bool> exchange(beck::io_context& ctx, tls::client_context& trust, std::string name,
                          std::uint16_t port, std::string text) {
  tcp::socket socket(ctx);
  auto connected =
      co_await socket.async_connect(tcp::endpoint(beck::ip::address_v4::loopback(), port));
  connected.value();
  tls::stream stream(std::move(socket), trust, name);
  auto shaken = co_await stream.async_handshake();
  beck::error_code ec = shaken.error();
  text += '\n';
  if (!ec) {
    auto sent = co_await async_write(stream, beck::buffer(text));
    ec = sent.error();
  }
  char part[16384];
  while (!ec) {
    auto got = co_await stream.async_read_some(beck::buffer(part));
    std::fwrite(part, 1, got.value_, stdout);
    ec = got.error();
  }
  if (ec != beck::error::eof) {
    const std::string sentence(stream.error_text());
    std::printf("failed: %s: %s\n", ec.message().c_str(), sentence.c_str());
    co_return false;
  }
  std::printf("done %s %s %s %s\n", std::string(stream.version()).c_str(),
              stream.protocol().empty() ? "-" : std::string(stream.protocol()).c_str(),
              stream.peer().c_str(), stream.is_resumed() ? "resumed" : "whole");
  co_return true;
}

int get(int argc, char** argv) {
  tls::client_options options;
  tls::authorities roots;
  tls::version least = tls::version::tls_1_2, most = tls::version::tls_1_3;
  int times = 1;
  read_options(argc, argv, 5, [&](const std::string& name, const std::string& value) {
    if (name == "--roots") {
      roots.file(value);
    } else if (name == "--lists") {
      roots.revocation_list(value);
    } else if (name == "--pin") {
      options.pin(value);
    } else if (name == "--ocsp") {
      options.demand_ocsp();
    } else if (name == "--identity") {
      const auto [chain, key] = two_files(value);
      options.identity(chain, key);
    } else if (name == "--protocols") {
      options.protocols(value);
    } else if (name == "--times") {
      times = std::atoi(value.c_str());
    } else if (name == "--least") {
      least = version_of(value);
    } else if (name == "--most") {
      most = version_of(value);
    } else {
      return false;
    }
    return true;
  });
  beck::io_context ctx;
  tls::client_context trust(options.trust(roots).versions(least, most));
  bool good = true;
  for (int i = 0; i < times && good; ++i) {
    co_spawn(ctx,
             exchange(ctx, trust, argv[2], static_cast<std::uint16_t>(std::atoi(argv[3])), argv[4]),
             [&](const std::exception_ptr& thrown, bool result) {
               if (thrown) std::rethrow_exception(thrown);
               good = result;
             });
    ctx.run();
    ctx.restart();
  }
  return good ? 0 : 1;
}

/// Writes the files into a folder that stays.
int write_files(const std::string& folder) {
  const tls::test::identity_files made;
  return std::system(("cp " + made.folder() + "/* '" + folder + "'").c_str()) == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string_view mode = argc > 1 ? argv[1] : "";
  try {
    if (mode == "files" && argc == 3) return write_files(argv[2]);
    if (mode == "serve" && argc >= 4) return serve(argc, argv);
    if (mode == "get" && argc >= 5) return get(argc, argv);
  } catch (const std::exception& e) {
    std::printf("failed: %s\n", e.what());
    return 1;
  }
  std::fputs("usage: posture_peer files|serve|get ...: see posture_peer.cpp\n", stderr);
  return 2;
}
