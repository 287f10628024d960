// SPDX-License-Identifier: BSL-1.0
// The queue of a subscription as a text.
#pragma once

#include <beck/redis/subscription.hpp>

#include <string>

namespace beck::redis::test {

/// Takes all events of the queue. Returns text_of(event) of each with a space behind it, then "end"
/// if the subscription has ended.
template <class Text>
std::string queued(subscription& from, Text text_of) {
  std::string text;
  for (;;) {
    const auto e = from.try_next();
    if (e.error() == beck::error::would_block) return text;
    if (!e) return text + "end";
    text += text_of(*e);
    text += ' ';
  }
}

}  // namespace beck::redis::test
