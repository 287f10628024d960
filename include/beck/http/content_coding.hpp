// SPDX-License-Identifier: BSL-1.0
//
// Content codings (RFC 9110, section 8.4.1; br is RFC 7932, zstd RFC 8878), and the choice of one
// that a client accepts.
#pragma once

#include <beck/http/head.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::http {

/// A content coding.
enum class content_coding : std::uint8_t {
  identity,  ///< none: the bytes as they are
  gzip,
  br,
  zstd,
};

namespace functions {

/// Returns the name, "gzip" and so on, as in the fields Content-Encoding and Accept-Encoding.
std::string_view name_of(content_coding c) noexcept;

}  // namespace functions
using namespace functions;

/// The codings that a client accepts (RFC 9110, section 12.5.3). A value; any thread.
class accepted_codings {
 public:
  /// The weight of a coding that is listed without one: 1.000.
  static constexpr unsigned weight_max = 1000;

  /// Reads the Accept-Encoding fields of a request. Without one only content_coding::identity is
  /// accepted: the RFC would allow all, but programs that do not send it seldom decode anything.
  explicit accepted_codings(const request_head& head) noexcept;
  /// Reads the value of an Accept-Encoding field. A malformed value accepts only
  /// content_coding::identity, which every client understands. If a coding is listed twice, the
  /// lower weight counts.
  explicit accepted_codings(std::string_view value) noexcept;

  /// Returns the weight of `c` in thousandths; 0 if it is not acceptable. content_coding::identity
  /// has 1 if the client does not mention it.
  unsigned weight_of(content_coding c) const noexcept { return weights_[static_cast<unsigned>(c)]; }
  /// Returns whether `c` is acceptable.
  bool accepts(content_coding c) const noexcept { return weight_of(c) != 0; }

  /// Returns the available coding with the largest weight; among equal weights the first.
  /// `available` need not list content_coding::identity, which is always available and comes last.
  /// Returns content_coding::identity also if no coding is acceptable: check that with
  /// accepts(identity); if it is false, a server may answer 406.
  content_coding pick(const content_coding* available, std::size_t count) const noexcept;

 private:
  std::uint16_t weights_[4];
};

}  // namespace beck::http
