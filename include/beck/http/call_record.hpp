// SPDX-License-Identifier: BSL-1.0
//
// Records of the calls of a client, for traces, logs and statistics.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/base/error.hpp>
#include <cstdint>
#include <string_view>

namespace beck::http {

/// A call that has ended; see client::on_finish(). Its texts are valid during the call of the
/// function.
struct call_record {
  std::string_view method;
  /// The URL; after redirects the last one.
  std::string_view url;
  /// The status of the response; 0 if there was none.
  unsigned status = 0;
  /// The error of the call, or of reading its body; no error if all went well.
  error_code error;
  /// The time from the beginning of the call, with the wait for a connection, to its end: the end
  /// of the response's body, its error, or that of the last object that could read it.
  duration time;
  /// The time from the beginning of the call to the head of its response; 0 if there was none.
  duration first_byte;
  /// The bytes of the response's body that have arrived, as they were sent.
  std::uint64_t response_bytes = 0;
  /// How often the request was sent: 1, and one more for each retry and redirect; 0 if it was not.
  unsigned attempts = 0;
  /// The response was dropped before all of its body was read.
  bool cut = false;
};

}  // namespace beck::http
