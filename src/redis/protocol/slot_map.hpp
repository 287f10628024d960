// SPDX-License-Identifier: BSL-1.0
// The nodes of a cluster and their slots, as a server describes them, and the redirects that
// servers answer with. Without I/O.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <beck/base/assert.hpp>
#include <beck/redis/key_slot.hpp>
#include <beck/redis/value.hpp>

namespace beck::redis::detail {

/// The place of a node.
struct node_address {
  std::string host;
  std::uint16_t port = 0;

  friend bool operator==(const node_address&, const node_address&) = default;
  friend auto operator<=>(const node_address&, const node_address&) = default;
};

/// The error of a server that does not serve a slot. An empty host is that of the server itself.
struct redirect {
  bool is_ask = false;  ///< ASK: for this command only; else MOVED
  std::uint16_t slot = 0;
  std::string_view host;  ///< a view of the error's text
  std::uint16_t port = 0;
};

/// Parses "MOVED 3999 127.0.0.1:6381" and the like. Returns nothing if the text is no redirect, or
/// a malformed one.
std::optional<redirect> parse_redirect(std::string_view text) noexcept;

/// The owner of each slot. Thread: one at a time.
class slot_map {
 public:
  /// Stands for a node that there is not.
  static constexpr std::uint16_t none = 0xffff;

  /// Makes a map without nodes, for at most `nodes_max`.
  explicit slot_map(std::size_t nodes_max);

  /// Replaces the map by the reply to CLUSTER SLOTS. `sender`: the host of the server that has
  /// answered, for nodes whose host it does not name. A node whose host is "?", or whose port is 0,
  /// is one that the server has no address of: it is left out, and its slots have no owner.
  /// Returns the fault of a reply that cannot be used, and keeps the map as it was then; else an
  /// empty text. Throws std::bad_alloc.
  std::string read(const value_item& reply, std::string_view sender);

  /// Returns whether a slot has an owner.
  bool is_known() const noexcept { return is_known_; }
  const std::vector<node_address>& nodes() const noexcept { return nodes_; }
  /// Returns the node that takes writes to a slot; none: the slot is not assigned.
  std::uint16_t owner(std::uint16_t slot) const noexcept {
    BECK_ASSERT(slot < key_slots, "a cluster has no such slot");
    return owners_[slot];
  }
  /// Returns the replicas of a node, in the order of their numbers.
  const std::vector<std::uint16_t>& replicas(std::uint16_t node) const noexcept {
    BECK_ASSERT(node < replicas_.size(), "a cluster has no such node");
    return replicas_[node];
  }
  /// Adds a node, unless it is there. Returns its number; none: there are `nodes_max` already.
  /// Throws std::bad_alloc.
  std::uint16_t add(const node_address& at);
  /// Moves a slot to a node.
  void patch(std::uint16_t slot, std::uint16_t node) noexcept {
    BECK_ASSERT(slot < key_slots && node < nodes_.size(), "a slot was moved that is not there");
    owners_[slot] = node;
    is_known_ = true;
  }

 private:
  std::string take_range(const value_item& range, std::string_view sender);
  std::string take_node(const value_item& node, std::string_view sender, std::uint16_t& number);

  std::size_t nodes_max_;
  std::vector<node_address> nodes_;
  std::map<node_address, std::uint16_t> numbers_;  // of the nodes
  std::vector<std::vector<std::uint16_t>> replicas_;
  std::array<std::uint16_t, key_slots> owners_;
  bool is_known_ = false;
};

}  // namespace beck::redis::detail
