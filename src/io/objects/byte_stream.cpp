// SPDX-License-Identifier: BSL-1.0
// The place of byte_stream's virtual table.
#include <beck/io/byte_stream.hpp>

namespace beck {

byte_stream::~byte_stream() = default;

}  // namespace beck
