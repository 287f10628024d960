// SPDX-License-Identifier: BSL-1.0
// Makes an error_code for programs and a sentence for people from a failed call of OpenSSL, and
// describes certificates: names, dates and issuer. All of these texts come from a peer: they are
// shortened, and bytes that are not printable become '?'.
#pragma once

#include <openssl/x509.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <beck/base/assert.hpp>
#include <beck/tls/error.hpp>

#include "tls/openssl.hpp"

namespace beck::tls::detail {

/// The reason why a session has failed, or no failure. A value.
struct failure {
  failure() noexcept = default;
  failure(error_code ec, std::string why) noexcept : code(ec), text(std::move(why)) {
    BECK_ASSERT(code, "a failure without an error");  // it would count as a success
  }

  explicit operator bool() const noexcept { return static_cast<bool>(code); }

  error_code code;
  std::string text;  ///< a sentence without a full stop
};

/// Explains the failure of the last call on `of`, from its notes and from the thread's error queue,
/// which is not changed. Throws std::bad_alloc.
failure explain(SSL* of);
/// Explains an alert that the peer has sent. `number`: the alert's number in TLS. Throws
/// std::bad_alloc.
failure explain_alert(int number);

/// Returns at most `most` bytes of `text`, with '?' for all bytes other than printable ASCII.
std::string printable(std::string_view text, std::size_t most = 200);

/// Returns the DNS names and addresses of the certificate, at most `most`; none if it has none.
/// Names are in lower case, and may be wildcards.
std::vector<std::string> names_of(const X509& certificate, std::size_t most);

/// Returns "a.example, b.example" or "no name", and "and 7 more" after the first four.
std::string name_list(const X509& certificate);

/// Returns the common name of the subject, or the whole subject, or "an empty subject".
std::string subject_of(const X509& certificate);
/// As subject_of(), for the issuer.
std::string issuer_of(const X509& certificate);

/// Returns a time of a certificate in seconds since 1970. An unreadable time counts as long past.
std::int64_t seconds_of(const ASN1_TIME* time) noexcept;
/// Returns "2026-01-31 23:59:59 UTC".
std::string date_text(std::int64_t seconds);

/// Returns the names, the issuer and the validity of a certificate: "certificate for a.example,
/// issued by X, valid from ... to ...".
std::string description_of(const X509& certificate);

}  // namespace beck::tls::detail
