// SPDX-License-Identifier: BSL-1.0
// A body with a length is received directly into the memory of its reader.
#include "http/client/body_reader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/http/client_error.hpp>
#include <beck/io/steady_timer.hpp>

namespace beck::http::detail {
namespace {

using beck::detail::loop_time;

constexpr double body_ns_per_second = 1e9;

}  // namespace

void body_reader::begin(const head& of, std::uint64_t limit) noexcept {
  body_limits bounds = bounds_.bodies;
  if (limit != UINT64_MAX) bounds.body_bytes = limit;
  decoder_ = body_decoder(of, bounds);
  framing_ = of.framing();
}

parse_status body_reader::decode(client_input& from) {
  while (data_bytes_ == 0 && !decoder_.is_done()) {
    const std::string_view text = from.view();
    const body_part part = decoder_.decode(text);
    if (part.status == parse_status::refused) return part.status;
    BECK_ASSERT(part.consumed <= text.size(), "a body has consumed more than the input has");
    if (part.data.empty()) {
      from.consume(part.consumed);
      if (part.consumed == 0) return parse_status::more;
    } else {
      data_at_ = static_cast<std::size_t>(part.data.data() - text.data());
      data_bytes_ = part.data.size();
      data_end_ = part.consumed;
      BECK_ASSERT(data_at_ + data_bytes_ <= data_end_, "data outside of the consumed input");
    }
  }
  return data_bytes_ == 0 ? parse_status::done : parse_status::more;
}

std::size_t body_reader::copy(client_input& from, mutable_buffer to) noexcept {
  BECK_ASSERT(data_end_ <= from.view().size(), "decoded data has left the input");
  const std::size_t bytes = std::min(to.size(), data_bytes_);
  std::memcpy(to.data(), from.view().data() + data_at_, bytes);
  data_at_ += bytes;
  data_bytes_ -= bytes;
  if (data_bytes_ == 0) from.consume(std::exchange(data_end_, 0));
  return bytes;
}

void body_reader::drop(client_input& from) noexcept {
  BECK_ASSERT(data_end_ <= from.view().size(), "dropped data has left the input");
  from.consume(std::exchange(data_end_, 0));
  data_bytes_ = 0;
}

/// Returns for how long a read may wait for the body now.
std::int64_t body_reader::patience() const noexcept {
  if (bounds_.body_rate == 0) return bounds_.body_timeout.nanoseconds();
  const double earned = static_cast<double>(decoder_.bytes()) / bounds_.body_rate *
                        body_ns_per_second;  // the time that the received bytes may have taken
  const std::int64_t total =
      std::max<std::int64_t>(bounds_.body_grace.nanoseconds(),
                             earned < 9e18 ? static_cast<std::int64_t>(earned) : INT64_MAX);
  return std::min<std::int64_t>(bounds_.body_timeout.nanoseconds(), total - waited_ns_);
}

/// Returns the part of `to` that bytes may be received into directly; empty: none. It is never
/// exactly as long as the body's rest: so bytes after the body are noticed, in it or in the input.
mutable_buffer body_reader::direct_room(const client_input& from,
                                        mutable_buffer to) const noexcept {
  if (framing_ != body_framing::length || !from.view().empty() || from.is_receiving()) return {};
  if (to.size() == decoder_.known_bytes()) return {to.data(), to.size() - 1};
  return to;
}

task<error_code> body_reader::receive(std::shared_ptr<client_connection> from, mutable_buffer to,
                                      std::size_t& bytes) {
  BECK_ASSERT(data_bytes_ == 0 && !decoder_.is_done(), "a wait for a body that is there");
  const std::int64_t limit = patience();
  if (limit <= 0) co_return client_error::body_late;
  const std::int64_t began = loop_time();
  error_code ec;
  const mutable_buffer room = direct_room(from->input(), to);
  const bool direct = room.size() != 0;
  if (direct) {
    auto got = co_await timeout(from->stream().read_some(room), duration(limit));
    ec = got.error();
    BECK_ASSERT(got.value_ <= room.size(), "a read has returned more than there is room for");
    const std::string_view text(static_cast<const char*>(room.data()), got.value_);
    bytes = decoder_.decode(text).data.size();
    if (bytes < text.size())
      from->input().note_end(error::eof);  // bytes after the body: for no other call
  } else {
    from->input().want_more();
    auto waited = co_await timeout(from->input().received().wait(), duration(limit));
    ec = waited.error();
  }
  waited_ns_ += loop_time() - began;
  if (ec == error::timeout) co_return client_error::body_late;
  if (direct && ec && ec != error::operation_aborted) {
    from->input().note_end(ec);  // read_ready() decides about it
    co_return error_code();
  }
  co_return ec;
}

}  // namespace beck::http::detail
