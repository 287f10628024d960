// SPDX-License-Identifier: BSL-1.0
// The public class tape: tapes as bytes, as text (base64url of RFC 4648 over the bytes and their
// FNV-1a checksum) and as files.
#include <beck/testing/tape.hpp>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <beck/base/error.hpp>

#include "testing/world_access.hpp"

namespace beck::testing::sim {
using namespace detail;
namespace {

constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t checksum_bytes = 4;
constexpr std::size_t file_bytes_max = std::size_t{1} << 26;

using file = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

[[noreturn]] void refuse(const char* reason) {
  throw io_error(error::make_error_code(error::invalid_argument), "malformed tape", reason);
}

std::uint32_t checksum(std::string_view bytes) noexcept {
  std::uint32_t sum = 0x811c9dc5;
  for (const char c : bytes) sum = (sum ^ static_cast<unsigned char>(c)) * 0x01000193;
  return sum;
}

std::string with_checksum(std::string bytes) {
  const std::uint32_t sum = checksum(bytes);
  for (unsigned i = 0; i < checksum_bytes; ++i) bytes += static_cast<char>(sum >> (8 * i));
  return bytes;
}

std::string encode_text(const std::string& bytes) {
  std::string text;
  unsigned held = 0;
  unsigned bits = 0;
  for (const char c : with_checksum(bytes)) {
    held = (held << 8 | static_cast<unsigned char>(c)) & 0xffff;
    for (bits += 8; bits >= 6; bits -= 6) text += digits[held >> (bits - 6) & 63];
  }
  if (bits != 0) text += digits[held << (6 - bits) & 63];
  return text;
}

std::string decode_text(std::string_view text) {
  std::string bytes;
  unsigned held = 0;
  unsigned bits = 0;
  for (const char c : text) {
    const std::size_t digit = digits.find(c);
    if (digit == std::string_view::npos) refuse("a character is no letter, digit, '-' or '_'");
    held = (held << 6 | static_cast<unsigned>(digit)) & 0xffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(held >> bits);
  }
  if (bytes.size() < checksum_bytes) refuse("the text is too short");
  const std::string held_bytes = bytes.substr(0, bytes.size() - checksum_bytes);
  if (with_checksum(held_bytes) != bytes) refuse("the checksum of the text is wrong");
  return held_bytes;
}

std::string_view trim(std::string_view text) noexcept {
  constexpr std::string_view space = " \t\r\n";
  const std::size_t first = text.find_first_not_of(space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(space) + 1 - first);
}

[[noreturn]] void fail(int error, const char* operation, const std::string& path) {
  throw io_error(make_error(-error), operation, path);
}

file open(const std::string& path, const char* mode) {
  file opened(std::fopen(path.c_str(), mode), &std::fclose);
  if (opened == nullptr) fail(errno, "opening the tape", path);
  return opened;
}

std::string read_all(const std::string& path) {
  const file from = open(path, "rb");
  std::string all;
  char part[4096];
  for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, from.get())) != 0;) {
    all.append(part, n);
    if (all.size() > file_bytes_max) fail(EFBIG, "reading the tape", path);
  }
  if (std::ferror(from.get()) != 0) fail(EIO, "reading the tape", path);
  return all;
}

}  // namespace

struct tape::state {
  explicit state(const sim_tape& from)
      : draws(from), bytes(from.encode()), text(encode_text(bytes)) {}

  sim_tape draws;
  std::string bytes;
  std::string text;
};

tape tape_access::make(const sim_tape& draws) { return tape(new tape::state(draws)); }
const sim_tape& tape_access::draws_of(const tape& from) noexcept { return from.state_->draws; }

tape::tape() : tape(new state(sim_tape())) {}
tape::tape(const tape& other) : tape(new state(*other.state_)) {}
tape::tape(tape&& other) noexcept : tape(std::exchange(other.state_, nullptr)) {}
tape& tape::operator=(const tape& other) { return *this = tape(other); }
tape& tape::operator=(tape&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}
tape::~tape() { delete state_; }

tape tape::from_bytes(std::string_view bytes) {
  sim_tape draws;
  if (const char* wrong = draws.decode(bytes); wrong != nullptr) refuse(wrong);
  return tape_access::make(draws);
}

tape tape::from_text(std::string_view text) { return from_bytes(decode_text(trim(text))); }

tape tape::load(std::string_view path) {
  const std::string name(path);
  const std::string all = read_all(name);
  try {
    const bool raw = std::string_view(all).substr(0, sim_tape::mark.size()) == sim_tape::mark;
    return raw ? from_bytes(all) : from_text(all);
  } catch (const io_error& wrong) {
    throw io_error(wrong.code(), "malformed tape", name + ": " + wrong.what());
  }
}

void tape::save(std::string_view path) const {
  const std::string name(path);
  const file to = open(name, "wb");
  if (std::fprintf(to.get(), "%s\n", state_->text.c_str()) < 0 || std::fflush(to.get()) != 0) {
    fail(errno, "writing the tape", name);
  }
}

std::string_view tape::bytes() const noexcept { return state_->bytes; }
std::string_view tape::text() const noexcept { return state_->text; }
std::uint64_t tape::seed() const noexcept { return state_->draws.seed; }
std::size_t tape::draws() const noexcept { return state_->draws.draws(); }
std::size_t tape::choices() const noexcept { return state_->draws.choices(); }

}  // namespace beck::testing::sim
