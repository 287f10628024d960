// SPDX-License-Identifier: BSL-1.0
// A reply as the tokens that a parser has made of it, with copies of their texts: it can be read
// any number of times, into any type, as if its bytes had just come.
#pragma once

#include <cstddef>
#include <vector>

#include <beck/redis/reader.hpp>
#include <beck/redis/resp3.hpp>

namespace beck::redis::detail {

/// The tokens of a reply. Moving it keeps the texts where they are. Thread: one at a time.
class kept_reply {
 public:
  void clear() noexcept {
    tokens_.clear();
    texts_.clear();
  }
  /// Adds the next token of the reply. Throws std::bad_alloc.
  void add(const token& next) {
    texts_.insert(texts_.end(), next.text.begin(), next.text.end());
    tokens_.push_back(next);
    if (next.is_last) finish();
  }
  /// Reads the reply. Requires that it is whole.
  void read(reply_reader& with) const noexcept {
    for (const token& one : tokens_) with.feed(one);
  }
  /// Returns the bytes of memory that it holds.
  std::size_t bytes() const noexcept {
    return tokens_.capacity() * sizeof(token) + texts_.capacity();
  }

 private:
  /// Frees the memory that is not used, and lets the tokens refer to the copies of their texts.
  void finish() {
    tokens_.shrink_to_fit();
    texts_.shrink_to_fit();
    const char* at = texts_.data();
    for (token& one : tokens_) {
      one.text = {at, one.text.size()};
      at += one.text.size();
    }
  }

  std::vector<token> tokens_;
  std::vector<char> texts_;
};

}  // namespace beck::redis::detail
