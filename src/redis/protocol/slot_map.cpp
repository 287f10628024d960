// SPDX-License-Identifier: BSL-1.0
// The slot of a key is a CRC-16, by a table that the compiler makes. CLUSTER SLOTS is an array of
// ranges: the first slot, the last one, the primary, its replicas. A node is an array that begins
// with its host and its port.
#include "redis/protocol/slot_map.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace beck::redis {
namespace {

constexpr std::uint16_t polynomial = 0x1021;

/// Returns the checksum of each byte alone.
constexpr std::array<std::uint16_t, 256> make_checksums() noexcept {
  std::array<std::uint16_t, 256> checksums{};
  for (unsigned byte = 0; byte < checksums.size(); ++byte) {
    unsigned sum = byte << 8;
    for (int bit = 0; bit < 8; ++bit) sum = (sum & 0x8000) != 0 ? sum << 1 ^ polynomial : sum << 1;
    checksums[byte] = static_cast<std::uint16_t>(sum);
  }
  return checksums;
}

constexpr auto checksums = make_checksums();

/// Returns the part of a key that decides where it is kept.
std::string_view hashed_part(std::string_view key) noexcept {
  const std::size_t opening = key.find('{');
  if (opening == std::string_view::npos) return key;
  const std::size_t closing = key.find('}', opening + 1);
  if (closing == std::string_view::npos || closing == opening + 1) return key;
  return key.substr(opening + 1, closing - opening - 1);
}

}  // namespace

std::uint16_t redis::functions::key_slot(std::string_view key) noexcept {
  unsigned sum = 0;
  for (const char c : hashed_part(key))
    sum = (sum << 8 ^ checksums[(sum >> 8 ^ static_cast<unsigned char>(c)) & 0xff]) & 0xffff;
  return static_cast<std::uint16_t>(sum % key_slots);
}

namespace detail {
namespace {

constexpr std::size_t host_bytes_max = 255;  // of a name in the domain name system
constexpr std::uint32_t port_max = 65535;

/// Reads a number that is all of `text`, and at most `most`.
bool read_number(std::string_view text, std::uint32_t most, std::uint16_t& to) noexcept {
  std::uint32_t number = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [stop, ec] = std::from_chars(begin, end, number);
  if (ec != std::errc() || stop != end || number > most) return false;
  to = static_cast<std::uint16_t>(number);
  return true;
}

/// Returns the element as text for the description of an error.
std::string shown(const value_item& item) {
  constexpr std::size_t bytes_max = 100;
  std::string text = to_text<std::string>(item);
  if (text.size() > bytes_max) text.replace(bytes_max, text.npos, "...");
  return text;
}

/// Reads an integer of at most `most`.
bool read_integer(const value_item& item, std::uint32_t most, std::uint16_t& to) noexcept {
  if (item.type() != data_type::integer) return false;
  const std::int64_t number = item.integer();
  if (number < 0 || number > std::int64_t{most}) return false;
  to = static_cast<std::uint16_t>(number);
  return true;
}

}  // namespace

std::optional<redirect> parse_redirect(std::string_view text) noexcept {
  redirect found;
  const std::size_t word = text.find(' ');
  if (word == text.npos) return std::nullopt;
  found.is_ask = text.substr(0, word) == "ASK";
  if (!found.is_ask && text.substr(0, word) != "MOVED") return std::nullopt;
  text.remove_prefix(word + 1);
  const std::size_t space = text.find(' ');
  if (space == text.npos || !read_number(text.substr(0, space), key_slots - 1, found.slot))
    return std::nullopt;
  text.remove_prefix(space + 1);
  const std::size_t colon = text.rfind(':');  // an IPv6 address has further ones
  if (colon == text.npos || colon > host_bytes_max) return std::nullopt;
  found.host = text.substr(0, colon);
  if (found.host == "?" || found.host.find(' ') != text.npos) return std::nullopt;
  if (!read_number(text.substr(colon + 1), port_max, found.port) || found.port == 0)
    return std::nullopt;
  return found;
}

slot_map::slot_map(std::size_t nodes_max) : nodes_max_(std::min<std::size_t>(nodes_max, none)) {
  owners_.fill(none);
}

std::uint16_t slot_map::add(const node_address& at) {
  if (const auto known = numbers_.find(at); known != numbers_.end()) return known->second;
  if (nodes_.size() == nodes_max_) return none;
  const auto number = static_cast<std::uint16_t>(nodes_.size());
  replicas_.resize(nodes_.size() + 1);  // one too many if the others fail
  nodes_.push_back(at);
  try {
    numbers_.emplace(at, number);
  } catch (...) {
    nodes_.pop_back();
    throw;
  }
  return number;
}

std::string slot_map::read(const value_item& reply, std::string_view sender) {
  if (reply.type() != data_type::array)
    return "the reply to CLUSTER SLOTS is no array: " + shown(reply);
  slot_map made(nodes_max_);
  for (const value_item& range : reply) {
    std::string wrong = made.take_range(range, sender);
    if (!wrong.empty()) return wrong;
  }
  *this = std::move(made);
  return {};
}

std::string slot_map::take_range(const value_item& range, std::string_view sender) {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  if (range.type() != data_type::array || range.size() < 3 ||
      !read_integer(range[0], key_slots - 1, first) ||
      !read_integer(range[1], key_slots - 1, last) || first > last)
    return "not a range of slots and its nodes: " + shown(range);
  std::uint16_t primary = none;
  std::size_t place = 0;
  for (const value_item& node : range) {
    if (place++ < 2) continue;
    std::uint16_t number = none;
    std::string wrong = take_node(node, sender, number);
    if (!wrong.empty()) return wrong;
    if (place == 3) {
      primary = number;
    } else if (primary != none && number != none) {
      std::vector<std::uint16_t>& known = replicas_[primary];
      const auto at = std::lower_bound(known.begin(), known.end(), number);
      if (at == known.end() || *at != number) known.insert(at, number);
    }
  }
  for (std::size_t slot = first; slot <= last; ++slot) {
    if (owners_[slot] != none) return "slot " + std::to_string(slot) + " has two owners";
    owners_[slot] = primary;
  }
  if (primary != none) is_known_ = true;
  return {};
}

std::string slot_map::take_node(const value_item& node, std::string_view sender,
                                std::uint16_t& number) {
  node_address at;
  const bool is_shaped = node.type() == data_type::array && node.size() >= 2;
  if (!is_shaped || !read_integer(node[1], port_max, at.port))
    return "not the address of a node: " + shown(node);
  const value_item host = node[0];
  if (!host.is_null() && host.type() != data_type::bulk_string)
    return "not the address of a node: " + shown(node);
  at.host = host.text().empty() ? sender : host.text();
  if (at.host.size() > host_bytes_max) return "not the host of a node: " + shown(host);
  if (at.host == "?" || at.port == 0) return {};  // the server has no address of it
  number = add(at);
  if (number == none) return "more than " + std::to_string(nodes_max_) + " nodes";
  return {};
}

}  // namespace detail

}  // namespace beck::redis
