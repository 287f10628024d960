// SPDX-License-Identifier: BSL-1.0
// From a failed call of OpenSSL to an error_code for programs and a sentence for people.
#pragma once

#include <string>

#include <beck/tls/error.hpp>

#include "tls/openssl.hpp"

namespace beck::tls::detail {

/// Why a session has failed.
struct failure {
  error_code code;
  std::string text;  ///< a sentence without a full stop
};

/// Explains the failure of the last call on `of`, from the thread's queue of errors, which is left
/// as it is, the result of the verification, and the expected name. Throws std::bad_alloc.
failure explain(SSL* of);
/// Explains an alert that the peer has sent. `number`: as in the protocol. Throws std::bad_alloc.
failure explain_alert(int number);

/// Throws io_error for a failed call that has to do with a file or with a setting: `code`, and
/// OpenSSL's own words behind `subject`. Empties the queue of errors.
[[noreturn]] void throw_setup_error(error code, const char* operation, const std::string& subject);

}  // namespace beck::tls::detail
