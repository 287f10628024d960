// SPDX-License-Identifier: BSL-1.0
// The bytes stay in the lent buffer as long as it contains all of them.
#include "http/server/input.hpp"

#include <cstring>
#include <utility>

#include <beck/http/parser.hpp>

namespace beck::http::detail {

void input::consume(std::size_t bytes) noexcept {
  if (lease_.empty()) {
    own_.consume(bytes);
    return;
  }
  at_ += bytes;
  if (at_ == lease_.size()) lease_.reset();
}

void input::append(std::string_view text) {
  const mutable_buffer room = own_.prepare(text.size() + request_parser::padding);
  if (!text.empty()) std::memcpy(room.data(), text.data(), text.size());
  own_.commit(text.size());
}

void input::add(buffer_lease&& received) {
  if (empty()) {
    lease_ = std::move(received);
    at_ = 0;
    return;
  }
  keep();
  append({received.data(), received.size()});
}

void input::keep() {
  if (lease_.empty()) return;
  append({lease_.data() + at_, lease_.size() - at_});
  lease_.reset();
}

}  // namespace beck::http::detail
