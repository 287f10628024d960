// SPDX-License-Identifier: BSL-1.0
//
// The bounds of a form with files.
#pragma once

#include <cstdint>
#include <type_traits>

namespace beck::http {

/// The bounds of a multipart_form: a longer form is refused with 413. Besides, the body has the
/// bound of its route or of the server: route_options::body_bytes, body_limits::body_bytes.
struct multipart_limits {
  std::uint32_t parts = 100;              ///< parts of the form: fields and files
  std::uint32_t head_bytes = 8192;        ///< of the head of a part; from 256 to 65535
  std::uint64_t part_bytes = UINT64_MAX;  ///< of the data of a part
  std::uint64_t body_bytes = UINT64_MAX;  ///< of the whole form with its boundaries
};
static_assert(std::is_trivially_destructible_v<multipart_limits>);

}  // namespace beck::http
