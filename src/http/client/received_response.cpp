// SPDX-License-Identifier: BSL-1.0
// Heads are copied out of the input, bodies are not.
#include "http/client/received_response.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <beck/http/client_error.hpp>

#include "base/transitions.hpp"

namespace beck::http::detail {
namespace {

enum class response_event : std::uint8_t {
  restart,    ///< another request is sent
  hear,       ///< bytes have come
  take_head,  ///< a whole head has, other than 1xx
  end,        ///< so has all of the body
  fail,       ///< the call has failed
};

/// In the order of response_event.
constexpr beck::detail::transition_table<response_progress, 5> response_transitions = [] {
  using beck::detail::any_but;
  using beck::detail::any_of;
  using enum response_progress;
  return beck::detail::transition_table<response_progress, 5>{{
      /* restart   */ {none, any_of({none, response_progress::head, whole})},
      /* hear      */ {heard, any_of({none})},
      /* take_head */ {response_progress::head, any_of({heard})},
      /* end       */ {whole, any_of({response_progress::head})},
      /* fail      */ {failed, any_but({failed})},
  }};
}();

}  // namespace

void block_text::assign(std::string_view text) {
  auto* const made =
      static_cast<char*>(beck::detail::allocate_block(text.size() + request_parser::padding));
  if (!text.empty()) std::memcpy(made, text.data(), text.size());
  clear();
  data_ = made;
  bytes_ = text.size();
}

void received_response::restart() noexcept {
  advance(progress_, response_event::restart, response_transitions);
  parser_.reset();
  is_continued_ = false;
  interim_bytes_ = data_bytes_ = data_end_ = 0;
}

void received_response::fail() noexcept {
  if (progress_ != response_progress::failed)
    advance(progress_, response_event::fail, response_transitions);
}

void received_response::set_whole() noexcept {
  advance(progress_, response_event::end, response_transitions);
}

parse_status received_response::parse_head(client_connection& from, method asked, bool upgrades,
                                           error_code& ec) {
  while (!has_head() && !from.input().empty()) {
    if (!is_heard()) advance(progress_, response_event::hear, response_transitions);
    const parse_status parsed = parser_.parse_padded(from.input(), asked, head_);
    if (parsed == parse_status::more) return parsed;
    if (parsed == parse_status::refused) {
      ec = make_error_code(parser_.reason());
      return parsed;
    }
    const unsigned number = number_of(head_.status());
    if (number >= 200 || number == 101) {
      take_head(from);
    } else {
      is_continued_ = is_continued_ || number == 100;
      interim_bytes_ += head_.bytes();
      from.consume(head_.bytes());
      parser_.reset();
      if (interim_bytes_ > bounds_.interim_bytes) ec = client_error::too_many_interim;
    }
    if (number == 101 && !upgrades) ec = client_error::unexpected_upgrade;
    if (ec) return parse_status::refused;
  }
  return has_head() ? parse_status::done : parse_status::more;
}

/// Takes the head of the response out of the input.
void received_response::take_head(client_connection& from) {
  head_text_.assign(from.input().substr(0, head_.bytes()));
  head_.rebase(head_text_.data());
  from.consume(head_.bytes());
  decoder_ = body_decoder(head_, bounds_.bodies);
  advance(progress_, response_event::take_head, response_transitions);
}

parse_status received_response::decode(client_connection& from) {
  while (data_bytes_ == 0 && !decoder_.is_done()) {
    const std::string_view text = from.input();
    const body_part part = decoder_.decode(text);
    if (part.status == parse_status::refused) return part.status;
    if (part.data.empty()) {
      from.consume(part.consumed);
      if (part.consumed == 0) return parse_status::more;
    } else {
      data_at_ = static_cast<std::size_t>(part.data.data() - text.data());
      data_bytes_ = part.data.size();
      data_end_ = part.consumed;
    }
  }
  return data_bytes_ == 0 ? parse_status::done : parse_status::more;
}

std::size_t received_response::copy(client_connection& from, mutable_buffer to) noexcept {
  const std::size_t bytes = std::min(to.size(), data_bytes_);
  std::memcpy(to.data(), from.input().data() + data_at_, bytes);
  data_at_ += bytes;
  data_bytes_ -= bytes;
  if (data_bytes_ == 0) from.consume(std::exchange(data_end_, 0));
  return bytes;
}

void received_response::drop(client_connection& from) noexcept {
  from.consume(std::exchange(data_end_, 0));
  data_bytes_ = 0;
}

std::size_t received_response::decode_received(std::string_view text) {
  return decoder_.decode(text).data.size();
}

}  // namespace beck::http::detail
