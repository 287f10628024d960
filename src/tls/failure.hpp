// SPDX-License-Identifier: BSL-1.0
// From a failed call of OpenSSL to an error_code for programs and a sentence for people.
#pragma once

#include <string>
#include <utility>

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

}  // namespace beck::tls::detail
