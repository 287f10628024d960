// SPDX-License-Identifier: BSL-1.0
//
// The options. Limits are checked here, so that the rest may rely on them.
#include "command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <beck/base/version.hpp>
#include <string>
#include <vector>

#include "common/usage.hpp"
#include "engine.hpp"
#include "failure.hpp"
#include "sizes.hpp"

namespace beck_copy {
namespace {

const char* const description =
    "Copies SRC to DST by a mechanism that you name, or by the best one that the kernel offers.\n"
    "SRC and DST are files, devices or pipes; - is standard input or output.";

const char* const footer =
    "The engines:\n"
    "  auto          a reflink, else the fastest mechanism for these two; falls back and says so\n"
    "  sync          read and write, one after the other\n"
    "  posix-aio     aio_read and aio_write, completions as real-time signals through signalfd\n"
    "  uring         reads and writes on io_uring, --depth blocks in flight\n"
    "  uring-splice  splices through pipes on io_uring, --depth pipes\n"
    "  sendfile      sendfile; no copy through user space\n"
    "  copy-range    copy_file_range; on some file systems no copy at all\n"
    "A named engine never falls back: it fails and says why.\n"
    "DST appears under its name only when it is complete, unless --in-place is given.\n"
    "Exit status: 0 copied, 1 failed, 2 wrong usage. More: man beck-copy.";

std::vector<std::string> engine_names() {
  std::vector<std::string> names = {"auto"};
  for (const engine& one : engines()) names.emplace_back(one.name);
  return names;
}

void check_limits(const settings& asked) {
  if (asked.source.empty()) throw failure("SRC: the name is empty");
  if (asked.target.empty()) throw failure("DST: the name is empty");
  if (asked.block && *asked.block < block_min)
    throw failure(fmt::format("--block {}: too small; at least {} bytes", *asked.block, block_min));
}

}  // namespace

std::optional<settings> parse_command_line(int argc, char** argv, int& status) {
  settings asked;
  std::string block, size;
  CLI::App app(description, "beck-copy");
  app.footer(footer);
  app.set_version_flag("--version", std::string("beck-copy ") + beck::version());
  app.add_option("--engine", asked.engine, "How the bytes move: see below")
      ->check(CLI::IsMember(engine_names()))
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--depth", asked.depth,
                 "Blocks in flight: posix-aio (default 8), uring and uring-splice (4)")
      ->check(CLI::Range(std::size_t{1}, depth_max))
      ->type_name("N");
  app.add_option("--block", block, "Bytes of a block, such as 64K (default: what suits the engine)")
      ->type_name("SIZE");
  app.add_option("--size", size, "Copy exactly so many bytes, such as 4GiB (default: all)")
      ->type_name("SIZE");
  app.add_flag("--direct", asked.direct, "Past the page cache (O_DIRECT)");
  app.add_flag("--fsync", asked.sync, "Wait until the copy is on the disk");
  app.add_flag("--verify", asked.verify, "Read both back and compare them");
  app.add_flag("--json", asked.json, "Print one JSON object");
  app.add_flag("--in-place", asked.in_place, "Write DST itself: keeps its owner, mode and links");
  app.add_flag("-v,--verbose", asked.verbose, "Say how it was copied");
  app.add_option("SRC", asked.source, "What to copy; - is standard input")->required();
  app.add_option("DST", asked.target, "Where to; - is standard output")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    status = beck_apps::print_usage(app, e);
    return std::nullopt;
  }
  if (!block.empty()) asked.block = parse_size("--block", block);
  if (!size.empty()) asked.size = parse_size("--size", size);
  check_limits(asked);
  return asked;
}

}  // namespace beck_copy
