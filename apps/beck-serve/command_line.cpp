// SPDX-License-Identifier: BSL-1.0
//
// The options. Values are checked here, so that the rest may rely on them.
#include "command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <beck/base/version.hpp>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/unit_text.hpp"
#include "common/usage.hpp"
#include "failure.hpp"
#include "limit_names.hpp"

namespace beck_serve {
namespace {

const char* const description =
    "Serves the files of a folder over HTTP/1.1, until SIGTERM or SIGINT.\n"
    "When it accepts connections it prints one line: listening: http://ADDRESS:PORT/";

const char* const footer_end =
    "Signals: TERM, INT let exchanges finish, a second one cuts them; HUP opens the access log "
    "again\nand reads certificate and key again.\n"
    "Exit status: 0 stopped by a signal, 1 failed, 2 wrong usage. More: man beck-serve.";

/// Options whose values are kept as texts until all of the command line was read.
struct texts {
  std::string index = "index.html";
  std::string precompressed;
  std::string cache_control;
  std::string drain = "20s";
  std::string keep_open = "0s";
  std::vector<std::string> types;
  std::vector<std::string> limits;
  bool listing = false;
};

void add_type(const std::string& text, beck::http::file_options& to) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos)
    throw wrong_usage(fmt::format("--type {}: not EXTENSION=TYPE, such as txt=text/plain", text));
  to.type(text.substr(0, equals), text.substr(equals + 1));
}

void set_files(const texts& given, beck::http::file_options& to) {
  std::string codings = given.precompressed;
  std::replace(codings.begin(), codings.end(), ',', ' ');
  try {
    to.index(given.index).precompressed(codings).listing(given.listing);
    to.cache_control(given.cache_control)
        .keep_open(beck_apps::parse_time("--keep-open", given.keep_open));
    for (const std::string& one : given.types) add_type(one, to);
  } catch (const std::invalid_argument& e) {
    throw wrong_usage(e.what());
  }
}

/// Adds the options that say where the server listens, and to whom.
void add_listening(CLI::App& app, settings& asked) {
  app.add_option("--host", asked.host, "The address to listen on; * is all of them")
      ->type_name("ADDRESS")
      ->capture_default_str();
  app.add_option("--port", asked.port, "The port; 0 takes a free one")
      ->type_name("PORT")
      ->capture_default_str();
  app.add_option("--unix", asked.unix_path, "Listen on a UNIX socket at PATH instead")
      ->type_name("PATH");
  app.add_option("--cert", asked.certificate,
                 "Serve https with this certificate, and the chain behind it, in PEM")
      ->type_name("FILE");
  app.add_option("--key", asked.key, "The private key of --cert, in PEM")->type_name("FILE");
  app.add_option("--proxy", asked.proxies,
                 "Addresses and networks of proxies whose X-Forwarded-For is believed")
      ->type_name("LIST");
}

/// Throws wrong_usage for options of TLS that do not fit together.
void check_identity(const settings& asked) {
  if (asked.certificate.empty() != asked.key.empty())
    throw wrong_usage("--cert and --key: one needs the other");
  if (!asked.certificate.empty() && !asked.unix_path.empty())
    throw wrong_usage("--cert: a UNIX socket has no TLS; leave --unix out");
}

}  // namespace

std::optional<settings> parse_command_line(int argc, char** argv, int& status) {
  settings asked;
  texts given;
  CLI::App app(description, "beck-serve");
  app.footer("The limits, with their defaults:\n" + limits_help() + footer_end);
  app.set_version_flag("--version", std::string("beck-serve ") + beck::version());
  add_listening(app, asked);
  app.add_option("--index", given.index, "The file that answers for its folder; empty: none")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_flag("--listing", given.listing, "List folders without an index");
  app.add_option("--precompressed", given.precompressed,
                 "Send FILE.br, FILE.gz, FILE.zst to clients that accept them: br,gzip,zstd")
      ->type_name("CODINGS");
  app.add_option("--cache-control", given.cache_control, "The value of Cache-Control")
      ->type_name("VALUE");
  app.add_option("--keep-open", given.keep_open,
                 "Keep files open for TIME; changes are noticed that much later")
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--type", given.types, "A media type, such as md=text/plain; may be repeated")
      ->type_name("EXT=TYPE");
  app.add_option("--limit", given.limits, "A limit of the server: see below; may be repeated")
      ->type_name("NAME=VALUE");
  app.add_option("--metrics", asked.metrics,
                 "Answer PATH with the server's counters for Prometheus")
      ->type_name("PATH");
  app.add_option("--access-log", asked.access_log,
                 "Append a line an exchange; - is standard output")
      ->type_name("FILE");
  using beck::http::log_format;
  const std::map<std::string, log_format> formats = {{"common", log_format::common},
                                                     {"combined", log_format::combined},
                                                     {"json", log_format::json}};
  app.add_option("--log-format", asked.format, "common, combined or json")
      ->transform(CLI::CheckedTransformer(formats).description(""))
      ->type_name("FORMAT")
      ->default_str("combined");
  app.add_option("--workers", asked.workers, "Threads; 0: one for each processor")
      ->check(CLI::Range(std::size_t{0}, workers_max))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--drain", given.drain, "How long exchanges may take to finish after a signal")
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("DIR", asked.folder, "The folder")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    status = beck_apps::print_usage(app, e);
    return std::nullopt;
  }
  set_files(given, asked.files);
  for (const std::string& one : given.limits) set_limit(one, asked.limits);
  asked.drain = beck_apps::parse_time("--drain", given.drain);
  check_identity(asked);
  if (asked.folder.empty()) throw wrong_usage("DIR: the name is empty");
  return asked;
}

}  // namespace beck_serve
