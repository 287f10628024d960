// SPDX-License-Identifier: BSL-1.0
// Files of certificates, keys and revocation lists. They are parsed here because OpenSSL does not
// report the line at which a file is broken.
#pragma once

#include <beck/tls/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tls/openssl.hpp"

namespace beck::tls::detail {

/// Throws an io_error: "`operation` "`subject`": ..." Shortens a long subject at its front, because
/// the end of a path matters more.
[[noreturn]] void refuse(error_code ec, const char* operation, std::string subject);

/// One block between BEGIN and END, these lines included. Views of a pem_file.
struct pem_block {
  std::string_view label;
  std::string_view text;
  std::size_t line;  ///< of BEGIN, counted from 1
};

/// The bytes of a file, or of a text in memory, and its name for error messages.
class pem_file {
 public:
  /// Reads the file. Throws io_error: that of the system, or file_too_large above 64 MiB.
  /// `operation` appears in errors, and has static storage.
  pem_file(const char* operation, const std::string& path);
  /// Copies the text.
  pem_file(const char* operation, std::string_view name, std::string_view text);

  /// Returns the blocks in their order, at least one. Throws bad_pem with the line.
  std::vector<pem_block> blocks() const;
  /// Returns the certificates in their order, at least one; other blocks are skipped.
  std::vector<x509_ptr> certificates() const;
  /// Returns the first private key; other blocks are skipped. Errors: bad_pem, encrypted_key.
  key_ptr private_key() const;
  /// Returns the revocation lists, at least one: those of a PEM file, or the one of a DER file.
  std::vector<crl_ptr> revocation_lists() const;

  const std::string& name() const noexcept { return name_; }
  std::string_view view() const noexcept { return bytes_.view(); }

  /// Throws an error that names the file, and the line unless it is 0.
  [[noreturn]] void fail(error why, std::size_t line, std::string_view reason) const;

 private:
  const char* operation_;
  std::string name_;
  secret_bytes bytes_;
};

}  // namespace beck::tls::detail
