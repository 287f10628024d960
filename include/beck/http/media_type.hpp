// SPDX-License-Identifier: BSL-1.0
//
// Media types of files, for the Content-Type field.
#pragma once

#include <string_view>

namespace beck::http {

namespace functions {

/// Returns the media type of the extension of a file's name or path, in any case: "text/html;
/// charset=utf-8" for "a/index.html". Text types get the charset UTF-8. Returns
/// "application/octet-stream" for other names, also for those whose only dot is the first
/// character.
std::string_view media_type_of(std::string_view file_name) noexcept;

}  // namespace functions
using namespace functions;

}  // namespace beck::http
