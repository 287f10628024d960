// SPDX-License-Identifier: BSL-1.0
// From a failed call of OpenSSL to an error_code for programs and a sentence for people, and
// certificates in words: names, dates and issuer. All of that comes from a peer: it is shortened,
// and bytes that are not printable become '?'.
#pragma once

#include <openssl/x509.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <beck/tls/error.hpp>

#include "tls/openssl.hpp"

namespace beck::tls::detail {

/// Why a session has failed, or nothing. A value.
struct failure {
  failure() noexcept = default;
  failure(error_code ec, std::string why) noexcept : code(ec), text(std::move(why)) {}

  explicit operator bool() const noexcept { return static_cast<bool>(code); }

  error_code code;
  std::string text;  ///< a sentence without a full stop
};

/// Explains the failure of the last call on `of`, from the thread's queue of errors, which is left
/// as it is, and from its notes. Throws std::bad_alloc.
failure explain(SSL* of);
/// Explains an alert that the peer has sent. `number`: as in the protocol. Throws std::bad_alloc.
failure explain_alert(int number);

/// Returns `text` with other bytes than printable ASCII as '?', at most `most` of them.
std::string printable(std::string_view text, std::size_t most = 200);

/// Returns the DNS names and addresses that the certificate was issued for; without any, nothing.
/// At most `most`. Names in lower case, as they stand in it, wildcards too.
std::vector<std::string> names_of(const X509& certificate, std::size_t most);

/// Returns "a.example, b.example" or "no name", and "and 7 more" behind the first four.
std::string name_list(const X509& certificate);

/// Returns the common name of the subject, or all of the subject, or "an empty subject".
std::string subject_of(const X509& certificate);
/// As subject_of(), of the issuer.
std::string issuer_of(const X509& certificate);

/// Returns the seconds from 1970 to a time of a certificate. A time that cannot be read is long
/// past.
std::int64_t seconds_of(const ASN1_TIME* time) noexcept;
/// Returns "2026-01-31 23:59:59 UTC".
std::string date_text(std::int64_t seconds);

/// Returns what identifies a certificate and when it is valid: "certificate for a.example, issued
/// by X, valid from ... to ...".
std::string description_of(const X509& certificate);

}  // namespace beck::tls::detail
