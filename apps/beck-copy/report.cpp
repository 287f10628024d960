// SPDX-License-Identifier: BSL-1.0
//
// Reports: one JSON object for programs, a few lines for people.
#include "report.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

#include "common/output.hpp"
#include "json_text.hpp"
#include "sizes.hpp"

namespace beck_copy {

using beck_apps::say;

namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

/// Of this program alone: what getrusage(2) says is at least what the program was that started it.
std::uint64_t peak_memory(const rusage& used) {
  std::ifstream status("/proc/self/status");
  std::string word;
  std::uint64_t kilobytes = static_cast<std::uint64_t>(used.ru_maxrss);
  while (status >> word)
    if (word == "VmHWM:") status >> kilobytes;
  return kilobytes * 1024;
}

std::string usage_members() {
  rusage used = {};
  ::getrusage(RUSAGE_SELF, &used);
  return fmt::format(
      "\"user_seconds\": {:.6f}, \"system_seconds\": {:.6f}, \"peak_memory_bytes\": {}, "
      "\"context_switches\": {}, \"page_faults\": {}",
      seconds_of(used.ru_utime), seconds_of(used.ru_stime), peak_memory(used),
      used.ru_nvcsw + used.ru_nivcsw, used.ru_minflt + used.ru_majflt);
}

double rate(const outcome& done) {
  return done.seconds > 0 ? static_cast<double>(done.bytes) / done.seconds : 0;
}

/// An ordinary file system refuses reflinks: not worth a word by itself.
bool is_worth_telling(const refused_engine& one) { return one.name != "reflink"; }

}  // namespace

std::string json_report(const settings& asked, const outcome& done, const std::string& problem) {
  std::string out = fmt::format("{{\"source\": {}, \"target\": {}, \"asked\": {}, \"engine\": {}",
                                json_text(asked.source), json_text(asked.target),
                                json_text(asked.engine), json_text(done.engine));
  out += ", \"refused\": [";
  for (const refused_engine& one : done.refused)
    out += fmt::format("{}{{\"engine\": {}, \"reason\": {}}}", &one == &done.refused[0] ? "" : ", ",
                       json_text(one.name), json_text(one.reason));
  out += fmt::format("], \"bytes\": {}, \"hole_bytes\": {}, \"seconds\": {:.6f}", done.bytes,
                     done.holes, done.seconds);
  out += fmt::format(", \"bytes_per_second\": {:.0f}, \"block\": {}, \"depth\": {}", rate(done),
                     done.block, done.depth);
  out += fmt::format(", \"reflink\": {}, \"verified\": {}, \"synced\": {}, {}", done.reflink,
                     done.verified, done.synced, usage_members());
  out += ", \"notes\": [";
  for (const std::string& note : done.notes)
    out += (&note == &done.notes[0] ? "" : ", ") + json_text(note);
  out += "]";
  if (!problem.empty()) out += ", \"error\": " + json_text(problem);
  return out + "}\n";
}

void print_report(const settings& asked, const outcome& done) {
  for (const std::string& note : done.notes) say(fmt::format("beck-copy: {}", note));
  const bool told = asked.verbose || ::isatty(STDERR_FILENO) == 1;
  const bool fell_back = std::any_of(done.refused.begin(), done.refused.end(), &is_worth_telling);
  for (const refused_engine& one : done.refused)
    if (asked.verbose || is_worth_telling(one))
      say(fmt::format("beck-copy: auto: {} refused: {}", one.name, one.reason));
  if (fell_back || asked.verbose)
    say(fmt::format("beck-copy: {} took {}", asked.engine, done.engine));
  if (done.reflink)
    say(fmt::format("beck-copy: a reflink: {} shares its blocks with {}", asked.target,
                    asked.source));
  if (told)
    say(fmt::format("beck-copy: {} in {:.2f} s, {}/s, engine {}", exact_size_text(done.bytes),
                    done.seconds, size_text(static_cast<std::uint64_t>(rate(done))), done.engine));
  if (done.verified)
    say(fmt::format("beck-copy: verified: {} compared, all equal", exact_size_text(done.bytes)));
}

}  // namespace beck_copy
