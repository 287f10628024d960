// SPDX-License-Identifier: BSL-1.0
//
// Drawing the bar: at most ten times a second, in one line that is overwritten.
#include "progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "sizes.hpp"

namespace beck_copy {
namespace {

constexpr auto redraw_time = std::chrono::milliseconds(100);
constexpr int bar_min = 10;
constexpr int bar_max = 50;

int columns() {
  winsize size = {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// 1:02:03, or 2:03.
std::string clock_text(double seconds) {
  const auto all = static_cast<long>(std::min(seconds, 359999.0) + 0.5);
  if (all < 3600) return fmt::format("{}:{:02}", all / 60, all % 60);
  return fmt::format("{}:{:02}:{:02}", all / 3600, all / 60 % 60, all % 60);
}

void show(const std::string& line) {
  const std::string text = "\r\033[K" + line;
  const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(written);  // a terminal that has gone misses nothing
}

}  // namespace

double progress::seconds() const {
  return std::chrono::duration<double>(clock::now() - begin_).count();
}

void progress::look() {
  const auto now = clock::now();
  if (now < next_look_) return;
  next_look_ = now + redraw_time;
  draw(now);
}

void progress::draw(clock::time_point now) {
  const double passed = std::max(std::chrono::duration<double>(now - begin_).count(), 1e-9);
  const double rate = static_cast<double>(bytes_) / passed;
  const std::string speed = size_text(static_cast<std::uint64_t>(rate)) + "/s";
  const int room = columns() - 1;
  std::string line;
  if (!total_ || *total_ == 0) {
    line = fmt::format("{}  {}  {}", size_text(bytes_), speed, clock_text(passed));
  } else {
    const double part = std::min(static_cast<double>(bytes_) / static_cast<double>(*total_), 1.0);
    const double left = static_cast<double>(*total_ - std::min(bytes_, *total_));
    const std::string facts =
        fmt::format(" {:3.0f} %  {} of {}  {}  ETA {}", part * 100, size_text(bytes_),
                    size_text(*total_), speed, rate > 0 ? clock_text(left / rate) : "-");
    const int bar = std::min(room - static_cast<int>(facts.size()) - 2, bar_max);
    if (bar >= bar_min) {
      const int full = static_cast<int>(part * bar);
      line = fmt::format("[{}{}]", std::string(static_cast<std::size_t>(full), '#'),
                         std::string(static_cast<std::size_t>(bar - full), '.'));
    }
    line += facts;
  }
  show(line.substr(0, static_cast<std::size_t>(std::max(room, 1))));
  drawn_ = true;
}

void progress::stage(const std::string& what) {
  if (!shown_) return;
  show(what);
  drawn_ = true;
}

void progress::finish() {
  if (drawn_) show("");
  drawn_ = false;
}

}  // namespace beck_copy
