// SPDX-License-Identifier: BSL-1.0
//
// Digests are hexadecimal, and compared without regard to capital letters.
#include "cluster_scripts.hpp"

#include "words.hpp"

namespace beck_redis_proxy {
namespace {

constexpr std::size_t digest_bytes = 40;

std::string small(std::string_view digest) {
  std::string text(digest);
  for (char& one : text) {
    if (one >= 'A' && one <= 'F') one = static_cast<char>(one | 0x20);
  }
  return text;
}

}  // namespace

bool is_script(const beck::redis::arguments& command, std::string_view sub) noexcept {
  return command.size() > 1 && is_word(command[0], "script") && is_word(command[1], sub);
}

std::string_view digest_of(std::string_view reply) noexcept {
  constexpr std::string_view head = "$40\r\n";
  return reply.starts_with(head) ? reply.substr(head.size(), digest_bytes) : std::string_view();
}

const std::string* cluster_scripts::find(std::string_view digest) const {
  if (digest.size() != digest_bytes) return nullptr;
  const auto known = texts_.find(small(digest));
  return known != texts_.end() ? &known->second : nullptr;
}

void cluster_scripts::add(std::string_view digest, std::string_view text) {
  if (digest.size() != digest_bytes || text.size() > bytes_most || find(digest) != nullptr) return;
  while (order_.size() >= scripts_most || bytes_ > bytes_most - text.size()) {
    const auto oldest = texts_.find(order_.front());
    bytes_ -= oldest->second.size();
    texts_.erase(oldest);
    order_.pop_front();
  }
  order_.push_back(small(digest));
  try {
    texts_.emplace(order_.back(), text);
  } catch (...) {
    order_.pop_back();
    throw;
  }
  bytes_ += text.size();
}

const std::string* cluster_scripts::text_of(const beck::redis::arguments& command) const {
  const bool is_call =
      command.size() > 1 && (is_word(command[0], "evalsha") || is_word(command[0], "evalsha_ro"));
  return is_call ? find(command[1]) : nullptr;
}

void cluster_scripts::answer_exists(const beck::redis::arguments& command,
                                    beck::redis::reply_writer& to) const {
  to.array(command.size() - 2);
  for (std::size_t i = 2; i < command.size(); ++i) to.integer(find(command[i]) != nullptr ? 1 : 0);
}

}  // namespace beck_redis_proxy
