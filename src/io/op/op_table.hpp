// SPDX-License-Identifier: BSL-1.0
// The facts about each kind of operation, one row for each kind: its direction, the readiness that
// it waits for, the form of its ring entry, and its names. Besides its row a kind needs a case in
// perform() and, if its form is new, one in the ring driver's fill().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <beck/detail/operation.hpp>

#include "io/system/system.hpp"

namespace beck::detail {

/// Directions of a descriptor: reading and accepting, writing and connecting, and errors.
enum : std::uint8_t { direction_in, direction_out, direction_error, directions };

/// The form of the ring entry for an operation that could not be done at once.
enum class ring_form : std::uint8_t {
  none,     ///< no entry: it waits elsewhere, or for the descriptor's multishot poll
  poll,     ///< IORING_OP_POLL_ADD for the readiness that it waits for
  receive,  ///< IORING_OP_RECV
  send,     ///< IORING_OP_SEND; as poll if the descriptor is no socket
  file,     ///< IORING_OP_READ and the like
  raw,      ///< the entry that the program fills
};

struct op_row {
  op_kind kind;
  std::uint8_t direction;
  ring_form ring;
  /// The events of poll(2) that make an attempt worthwhile.
  std::uint16_t awaited_events;
  /// The name of the functions that start it, without their prefix.
  const char* name;
  /// The words of a dump for a task that waits for it, if they are not the name.
  const char* awaited = nullptr;
};

inline constexpr std::uint16_t read_events = poll_in | poll_read_hang_up;

// The kinds from wait_timer on have no queue in a descriptor: their direction is never used.
inline constexpr op_row op_table[] = {
    {op_kind::receive, direction_in, ring_form::receive, read_events, "read"},
    {op_kind::send, direction_out, ring_form::send, poll_out, "write"},
    {op_kind::receive_vector, direction_in, ring_form::none, read_events, "read"},
    {op_kind::receive_lease, direction_in, ring_form::none, read_events, "receive"},
    {op_kind::send_vector, direction_out, ring_form::poll, poll_out, "write"},
    {op_kind::receive_message, direction_in, ring_form::none, read_events, "receive"},
    {op_kind::send_message, direction_out, ring_form::poll, poll_out, "send"},
    {op_kind::accept, direction_in, ring_form::none, read_events, "accept"},
    {op_kind::connect, direction_out, ring_form::poll, poll_out, "connect"},
    {op_kind::wait_read, direction_in, ring_form::none, read_events, "wait", "readiness to read"},
    {op_kind::wait_write, direction_out, ring_form::poll, poll_out, "wait", "readiness to write"},
    {op_kind::wait_error, direction_error, ring_form::poll, poll_priority, "wait", "an error"},
    {op_kind::file_in_order, direction_in, ring_form::file, 0, "a call on a file", "a file"},
    {op_kind::wait_timer, direction_error, ring_form::none, 0, "wait", "timer"},
    {op_kind::wait_signal, direction_error, ring_form::none, 0, "wait", "signal"},
    {op_kind::file, direction_error, ring_form::file, 0, "a call on a file", "a file"},
    {op_kind::raw, direction_error, ring_form::raw, 0, "raw operation"},
    {op_kind::job, direction_error, ring_form::none, 0, "a blocking call"},
};

inline constexpr std::size_t op_kinds = std::size(op_table);

/// Returns whether `Kind` has an enumerator: compilers print a value without one as a cast.
template <op_kind Kind>
consteval bool is_enumerator() {
  return std::string_view(__PRETTY_FUNCTION__).find("= (") == std::string_view::npos;
}

static_assert(
    [] {
      for (std::size_t i = 0; i < op_kinds; ++i) {
        if (op_table[i].kind != static_cast<op_kind>(i)) return false;
      }
      return true;
    }() &&
        !is_enumerator<static_cast<op_kind>(op_kinds)>(),
    "a row for each kind, in the order of op_kind");

constexpr const op_row& row_of(op_kind kind) noexcept {
  return op_table[static_cast<std::size_t>(kind)];
}

/// The directions as adjacent bytes, because each step of each operation reads one.
inline constexpr auto direction_table = [] {
  std::array<std::uint8_t, op_kinds> table{};
  for (std::size_t i = 0; i < op_kinds; ++i) table[i] = op_table[i].direction;
  return table;
}();

inline unsigned direction_of(op_kind kind) noexcept {
  return direction_table[static_cast<std::size_t>(kind)];
}

inline unsigned awaited_events(op_kind kind) noexcept { return row_of(kind).awaited_events; }

// Of wait_error, as io_op::length: the event is an end of the peer, and not urgent data.
inline constexpr std::size_t until_peer_finished = 1;
inline constexpr std::size_t until_peer_gone = 2;

/// Returns the events of poll(2) that `op` waits for, besides errors and hang-ups.
inline unsigned awaited_events(const io_op& op) noexcept {
  if (op.kind != op_kind::wait_error || op.length == 0) return awaited_events(op.kind);
  return op.length == until_peer_finished ? unsigned{poll_read_hang_up} : 0U;
}

inline const char* name_of(op_kind kind) noexcept { return row_of(kind).name; }

// --- sets of kinds, by comparison ---------------------------------------------------------------

static_assert(op_kind::file_in_order < op_kind::wait_timer && op_kind::wait_timer < op_kind::file);

/// Returns whether operations of this kind queue for a direction of their descriptor.
constexpr bool has_direction(op_kind kind) noexcept { return kind < op_kind::wait_timer; }

constexpr bool is_file(op_kind kind) noexcept {
  return kind == op_kind::file || kind == op_kind::file_in_order;
}

constexpr bool is_receive(op_kind kind) noexcept {
  return kind == op_kind::receive || kind == op_kind::receive_vector;
}

/// Returns whether operations of this kind move bytes of a stream into or out of the program's
/// buffers.
constexpr bool is_transfer(op_kind kind) noexcept {
  return is_receive(kind) || kind == op_kind::send || kind == op_kind::send_vector;
}

/// Returns whether operations of this kind read a stream: the outcome of one read says something
/// about the next.
constexpr bool is_read(op_kind kind) noexcept {
  return is_receive(kind) || kind == op_kind::receive_lease;
}

/// Returns whether operations of this kind move datagrams: the outcome of one says nothing about
/// the next.
constexpr bool is_message(op_kind kind) noexcept {
  return kind == op_kind::receive_message || kind == op_kind::send_message;
}

}  // namespace beck::detail
