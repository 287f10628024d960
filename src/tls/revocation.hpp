// SPDX-License-Identifier: BSL-1.0
// OCSP responses: those that a server sends along with its certificate, and those that a client
// demands. Source: RFC 6960; RFC 6066, section 8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tls/failure.hpp"
#include "tls/handles.hpp"

namespace beck::tls::detail {

/// A response to serve.
struct stapled {
  std::string bytes;
  std::int64_t end = 0;  ///< when it is too old, in seconds from 1970
};

/// Loads the response in the file `path`, in DER. `issuer` may be unknown. Throws io_error:
/// bad_ocsp_response if it is malformed, of another certificate, too old, or not "good".
stapled load_response(const std::string& path, const X509& leaf, const X509* issuer);

/// Checks a response that a server has sent for the first certificate of `chain`, at the time
/// `now`: it must be signed by the issuer or for it, current, and "good". Errors: revoked,
/// revocation_unknown. Changes the error queue of the thread.
failure check_response(std::string_view response, STACK_OF(X509) * chain, X509_STORE* roots,
                       std::int64_t now);

}  // namespace beck::tls::detail
