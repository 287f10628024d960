// SPDX-License-Identifier: BSL-1.0
// The tokens of a push become a value.
#include "redis/session/push_reader.hpp"

#include "base/transitions.hpp"

namespace beck::redis::detail {
namespace {

constexpr std::size_t push_element_bytes = 4;  // the shortest one on the wire, but for a null

/// In the order of push_reading_event.
constexpr beck::detail::transition_table<push_reading, 3> push_reading_transitions = [] {
  using beck::detail::any_of;
  using enum push_reading;
  return beck::detail::transition_table<push_reading, 3>{{
      /* begin */ {whole, any_of({none})},
      /* cut   */ {cut, any_of({whole})},
      /* end   */ {none, any_of({whole, cut})},
  }};
}();

}  // namespace

/// From the element on that is too large the push is dropped, with the sizes that are announced in
/// mind. The part before it names the channel.
bool push_reader::take(const token& next) {
  if (!is_reading()) advance(state_, push_reading_event::begin, push_reading_transitions);
  const bool is_element = next.part <= text_part::first;
  bytes_ += next.text.size() + (is_element ? push_element_bytes : 0);
  std::size_t bytes = bytes_;
  if (next.part == text_part::first && next.number != unknown_size)
    bytes += static_cast<std::size_t>(next.number) - next.text.size();
  if (state_ == push_reading::whole && bytes > bytes_max_ && next.depth != 0) {
    advance(state_, push_reading_event::cut, push_reading_transitions);
    token none;
    none.depth = 1;
    none.is_last = true;
    message_.append(none);
  }
  if (state_ == push_reading::whole) message_.append(next);
  return next.is_last;
}

void push_reader::pass_on() {
  const bool is_cut = state_ == push_reading::cut;
  advance(state_, push_reading_event::end, push_reading_transitions);
  bytes_ = 0;
  if (sink_ != nullptr && is_cut) sink_->take_cut_push(message_);
  if (sink_ != nullptr && !is_cut) sink_->take_push(message_);
  message_.clear();
}

void push_reader::lose() noexcept {
  if (is_reading()) advance(state_, push_reading_event::end, push_reading_transitions);
  bytes_ = 0;
  message_.clear();
}

}  // namespace beck::redis::detail
