// SPDX-License-Identifier: BSL-1.0
// A head that is refused stays refused: what follows it cannot be understood.
#include "http/client/received_response.hpp"

#include <beck/base/assert.hpp>
#include <beck/http/client_error.hpp>

#include "base/transitions.hpp"

namespace beck::http::detail {
namespace {

enum class response_event : std::uint8_t {
  hear,       ///< bytes have come
  take_head,  ///< a whole head has, other than 1xx
  end,        ///< so has all of the body
  fail,       ///< the call has failed
};

/// In the order of response_event.
constexpr beck::detail::transition_table<response_progress, 4> response_transitions = [] {
  using beck::detail::any_but;
  using beck::detail::any_of;
  using enum response_progress;
  return beck::detail::transition_table<response_progress, 4>{{
      /* hear      */ {heard, any_of({none})},
      /* take_head */ {response_progress::head, any_of({heard})},
      /* end       */ {whole, any_of({response_progress::head})},
      /* fail      */ {failed, any_but({failed})},
  }};
}();

}  // namespace

void received_response::fail() noexcept {
  if (progress_ != response_progress::failed)
    advance(progress_, response_event::fail, response_transitions);
}

void received_response::set_whole() noexcept {
  BECK_ASSERT(!body_.has_data(), "a response ended with data that was not read");
  advance(progress_, response_event::end, response_transitions);
}

parse_status received_response::parse_head(client_input& from, const client_request& asked) {
  while (!error_ && !has_head() && !from.view().empty()) {
    if (!is_heard()) advance(progress_, response_event::hear, response_transitions);
    const parse_status parsed = parser_.parse_padded(from.view(), asked.method, head_);
    if (parsed == parse_status::more) return parsed;
    if (parsed == parse_status::refused) {
      error_ = make_error_code(parser_.reason());
      break;
    }
    BECK_ASSERT(head_.bytes() <= from.view().size(), "a head of more bytes than the input has");
    const unsigned number = number_of(head_.status());
    if (number >= 200 || number == 101) {
      take_head(from, asked);
    } else {
      is_continued_ = is_continued_ || number == 100;
      interim_bytes_ += head_.bytes();
      from.consume(head_.bytes());
      parser_.reset();
      if (interim_bytes_ > bounds_.interim_bytes) error_ = client_error::too_many_interim;
    }
    if (number == 101 && asked.upgrade.empty()) error_ = client_error::unexpected_upgrade;
  }
  if (error_) return parse_status::refused;
  return has_head() ? parse_status::done : parse_status::more;
}

/// Takes the head of the response out of the input.
void received_response::take_head(client_input& from, const client_request& asked) {
  head_text_.assign(from.view().substr(0, head_.bytes()));
  head_.rebase(head_text_.data());
  from.consume(head_.bytes());
  body_.begin(head_, asked.response_bytes_max);
  advance(progress_, response_event::take_head, response_transitions);
}

}  // namespace beck::http::detail
