// SPDX-License-Identifier: BSL-1.0
//
// Base64 (RFC 4648): bytes as text for fields, credentials and cookies.
#pragma once

#include <cstdint>
#include <string>  // lint: allow heavy-header, error.hpp has it already
#include <string_view>

namespace beck {

/// The alphabet of a base64 text.
enum class base64_form : std::uint8_t {
  standard,  ///< "+" and "/", filled up with "=" to a multiple of four (RFC 4648, section 4)
  url,       ///< "-" and "_", not filled up: for URLs, cookies and file names (section 5)
};

namespace functions {

/// Returns `bytes` as text. Throws std::bad_alloc.
std::string to_base64(std::string_view bytes, base64_form form = base64_form::standard);

/// Decodes `text` into `to`, which must not be what `text` refers to. Strict, so that one text
/// stands for one value: no other characters, no missing or superfluous "=", and unused bits are 0.
/// Returns false, and leaves `to` empty, otherwise. Throws std::bad_alloc.
bool from_base64(std::string_view text, std::string& to, base64_form form = base64_form::standard);

}  // namespace functions
using namespace functions;

}  // namespace beck
