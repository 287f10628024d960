// SPDX-License-Identifier: BSL-1.0
// Reads files without stdio, whose buffer would keep a copy of a key, and finds the line of a
// broken block.
#include "tls/pem_file.hpp"

#include <openssl/err.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <limits>
#include <memory>

namespace beck::tls::detail {
namespace {

constexpr std::size_t file_bytes_max = std::size_t{64} << 20;
constexpr std::string_view dashes = "-----";
constexpr std::string_view begin_mark = "-----BEGIN ";
constexpr std::string_view end_mark = "-----END ";

struct file_closer {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

[[noreturn]] void fail_with_errno(const char* operation, const std::string& path) {
  refuse(error_code(errno, std::system_category()), operation, path);
}

secret_bytes read_file(const char* operation, const std::string& path) {
  const std::unique_ptr<std::FILE, file_closer> file(std::fopen(path.c_str(), "rbe"));
  if (file == nullptr || std::setvbuf(file.get(), nullptr, _IONBF, 0) != 0 ||
      std::fseek(file.get(), 0, SEEK_END) != 0)
    fail_with_errno(operation, path);
  const long end = std::ftell(file.get());
  if (end == std::numeric_limits<long>::max())  // the size of a folder
    refuse(make_error_code(std::errc::is_a_directory), operation, path);
  if (end < 0 || std::fseek(file.get(), 0, SEEK_SET) != 0) fail_with_errno(operation, path);
  if (static_cast<unsigned long>(end) > file_bytes_max)
    refuse(make_error_code(std::errc::file_too_large), operation, path);
  secret_bytes bytes(static_cast<std::size_t>(end));
  bytes.truncate(std::fread(bytes.data(), 1, bytes.size(), file.get()));
  if (std::ferror(file.get()) != 0) fail_with_errno(operation, path);
  return bytes;
}

secret_bytes copy_of(std::string_view text) {
  secret_bytes bytes(text.size());
  std::copy(text.begin(), text.end(), bytes.data());
  return bytes;
}

/// Returns the label of a line "-----BEGIN label-----", or of END; empty if it is none.
std::string_view label_of(std::string_view line, std::string_view mark) noexcept {
  if (!line.starts_with(mark) || !line.ends_with(dashes)) return {};
  line.remove_prefix(mark.size());
  return line.substr(0, line.size() - std::min(line.size(), dashes.size()));
}

/// Takes the next line, without its end.
std::string_view take_line(std::string_view& text) noexcept {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t'))
    line.remove_suffix(1);
  return line;
}

bool is_base64(char c) noexcept {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/' || c == '=';
}

/// Returns the number of the first line of a block that is not base64; that of BEGIN if all are.
std::size_t broken_line(const pem_block& block) noexcept {
  std::string_view left = block.text;
  std::size_t line = block.line;
  take_line(left);
  while (!left.empty()) {
    ++line;
    const std::string_view one = take_line(left);
    if (one.starts_with(dashes)) break;
    if (!std::all_of(one.begin(), one.end(), is_base64)) return line;
  }
  return block.line;
}

bio_ptr reader_of(std::string_view text) {
  BECK_ASSERT(text.size() <= INT_MAX, "a block of PEM over 2 GiB");
  bio_ptr bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (bio == nullptr) throw std::bad_alloc();
  return bio;
}

/// Returns no password: a prompt on the terminal would stop the program.
int no_password(char*, int, int, void*) noexcept { return 0; }

}  // namespace

void refuse(error_code ec, const char* operation, std::string subject) {
  constexpr std::size_t shown_max = 200;  // see io_error
  if (subject.size() > shown_max)
    subject = "..." + subject.substr(subject.size() - (shown_max - 3));
  throw io_error(ec, operation, subject);
}

pem_file::pem_file(const char* operation, const std::string& path)
    : operation_(operation), name_(path), bytes_(read_file(operation, path)) {}

pem_file::pem_file(const char* operation, std::string_view name, std::string_view text)
    : operation_(operation), name_(name), bytes_(copy_of(text)) {}

void pem_file::fail(error why, std::size_t line, std::string_view reason) const {
  std::string subject = name_;
  if (line != 0) subject.append(", line ").append(std::to_string(line));
  if (!reason.empty()) subject.append(": ").append(reason);
  refuse(why, operation_, std::move(subject));
}

std::vector<pem_block> pem_file::blocks() const {
  std::vector<pem_block> found;
  std::string_view left = view();
  std::string_view label;
  const char* begin = nullptr;
  std::size_t line = 0;
  std::size_t begin_line = 0;
  while (!left.empty()) {
    const char* const start = left.data();
    const std::string_view text = take_line(left);
    ++line;
    if (text.starts_with(begin_mark)) {
      if (begin != nullptr) fail(error::bad_pem, line, "BEGIN before the END of the block above");
      label = label_of(text, begin_mark);
      if (label.empty()) fail(error::bad_pem, line, "a BEGIN without label or dashes");
      begin = start;
      begin_line = line;
    } else if (text.starts_with(end_mark)) {
      if (begin == nullptr) fail(error::bad_pem, line, "END without BEGIN");
      if (label_of(text, end_mark) != label)
        fail(error::bad_pem, line, "END has another label than BEGIN");
      const auto size = static_cast<std::size_t>(left.data() - begin);
      found.push_back({label, {begin, size}, begin_line});
      begin = nullptr;
    } else if (text.starts_with(dashes) && begin_mark.starts_with(text)) {
      fail(error::bad_pem, line, "a BEGIN that was cut");
    }
  }
  if (begin != nullptr) fail(error::bad_pem, begin_line, "BEGIN without END");
  if (found.empty())
    fail(error::bad_pem, 0, view().empty() ? "the file is empty" : "there is no BEGIN in it");
  return found;
}

std::vector<x509_ptr> pem_file::certificates() const {
  std::vector<x509_ptr> found;
  for (const pem_block& block : blocks()) {
    if (block.label != "CERTIFICATE" && block.label != "X509 CERTIFICATE" &&
        block.label != "TRUSTED CERTIFICATE")
      continue;
    const bio_ptr bio = reader_of(block.text);
    x509_ptr one(PEM_read_bio_X509_AUX(bio.get(), nullptr, no_password, nullptr));
    ERR_clear_error();
    if (one == nullptr) fail(error::bad_pem, broken_line(block), "no certificate can be decoded");
    found.push_back(std::move(one));
  }
  if (found.empty()) fail(error::bad_pem, 0, "there is no certificate in it");
  return found;
}

key_ptr pem_file::private_key() const {
  for (const pem_block& block : blocks()) {
    if (!block.label.ends_with("PRIVATE KEY")) continue;
    if (block.label.starts_with("ENCRYPTED") ||
        block.text.find("Proc-Type: 4,ENCRYPTED") != std::string_view::npos)
      fail(error::encrypted_key, block.line, {});
    const bio_ptr bio = reader_of(block.text);
    key_ptr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
    ERR_clear_error();
    if (key == nullptr) fail(error::bad_pem, broken_line(block), "no key can be decoded");
    return key;
  }
  fail(error::bad_pem, 0, "there is no private key in it");
}

std::vector<crl_ptr> pem_file::revocation_lists() const {
  std::vector<crl_ptr> found;
  if (view().find(begin_mark) == std::string_view::npos) {
    const auto* at = reinterpret_cast<const unsigned char*>(view().data());
    crl_ptr one(d2i_X509_CRL(nullptr, &at, static_cast<long>(view().size())));
    ERR_clear_error();
    if (one == nullptr) fail(error::bad_pem, 0, "neither PEM nor a revocation list in DER");
    found.push_back(std::move(one));
    return found;
  }
  for (const pem_block& block : blocks()) {
    if (block.label != "X509 CRL") continue;
    const bio_ptr bio = reader_of(block.text);
    crl_ptr one(PEM_read_bio_X509_CRL(bio.get(), nullptr, no_password, nullptr));
    ERR_clear_error();
    if (one == nullptr) fail(error::bad_pem, broken_line(block), "no list can be decoded");
    found.push_back(std::move(one));
  }
  if (found.empty()) fail(error::bad_pem, 0, "there is no revocation list in it");
  return found;
}

}  // namespace beck::tls::detail
