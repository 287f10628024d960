// SPDX-License-Identifier: BSL-1.0
// Frames: the way in which they arrive does not matter, nothing outside of the input is read or
// changed, what is accepted keeps the limits, and its messages can be written and read again.
#include <beck/websocket/codec.hpp>

#include <string>
#include <vector>

#include "fuzz/http/fuzz.hpp"
#include "websocket/frames.hpp"

namespace {

using namespace beck::websocket;
using namespace beck::http::fuzz;

/// What a decoder has found in the whole input, at the places where it lies.
struct reading {
  std::vector<std::string> messages;
  std::vector<message_kind> kinds;
  bool refused = false;
};

/// Decodes a copy that ends where the input ends.
reading read_whole(std::string_view input, side own, const frame_limits& most) {
  std::vector<char> bytes(input.begin(), input.end());
  frame_decoder decoder(own, most);
  reading all;
  std::string open;
  std::size_t at = 0;
  for (;;) {
    const decoded_frame found = decoder.decode({bytes.data() + at, bytes.size() - at});
    require(found.consumed <= bytes.size() - at, "more was consumed than there is");
    const char* const data = static_cast<const char*>(found.data.data());
    if (found.data.size() != 0) {
      require(data >= bytes.data() + at && data + found.data.size() <= bytes.data() + bytes.size(),
              "data is outside of the input");
      require(data + found.data.size() == bytes.data() + at + found.consumed,
              "data is not the end of what was consumed");
      open.append(data, found.data.size());
      require(open.size() <= most.message_bytes, "a message is over its limit");
    }
    at += found.consumed;
    require(decoder.control_text().size() <= 125, "a control frame is too long");
    if (found.event == frame_event::refused) {
      all.refused = true;
      return all;
    }
    if (found.event == frame_event::more) {
      require(at == bytes.size(), "a decoder wants more and has not taken all");
      return all;
    }
    if (found.ends_message) {
      if (decoder.kind() == message_kind::text) {
        detail::utf8_state text;
        for (const char c : open) require(text.feed(&c, 1), "accepted text is not UTF-8");
        require(text.is_whole(), "accepted text is cut");
      }
      all.messages.push_back(std::exchange(open, std::string()));
      all.kinds.push_back(decoder.kind());
    }
    if (found.event == frame_event::close) {
      const bool good =
          decoder.peer_code() == close_code::no_status || may_be_sent(decoder.peer_code());
      require(good, "a close code that must not be sent");
    }
  }
}

/// Writes the messages again, from the other end, and reads them.
void rewrite(const reading& all, side own) {
  std::string text;
  for (std::size_t i = 0; i < all.messages.size(); ++i) {
    char head[frame_head_max];
    const mask_key key{{'k', '\0', '\xff', static_cast<char>(i)}};
    std::string body = all.messages[i];
    text.append(head, write_frame_head(head, static_cast<opcode>(all.kinds[i]), true, body.size(),
                                       own == side::server ? &key : nullptr));
    if (own == side::server) apply_mask(body.data(), body.size(), key);
    text += body;
  }
  const reading again = read_whole(text, own, frame_limits());
  require(!again.refused && again.messages == all.messages && again.kinds == all.kinds,
          "written messages are read as others");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  choices input(beck::http::fuzz::text_of(data, size));
  const unsigned choice = input.byte();
  const side own = (choice & 1) != 0 ? side::client : side::server;
  frame_limits most;
  most.message_bytes = (choice & 2) != 0 ? 40 : 100'000;
  most.frame_bytes = (choice & 4) != 0 ? 30 : 100'000;
  const std::string text(input.rest());
  const std::string whole = test::transcript_of(text, own, {}, most);
  at_splits(text, [&](std::size_t at) {
    require_equal(whole, test::transcript_of(text, own, {at}, most), "a split matters");
  });
  if (text.size() <= 512) {
    std::vector<std::size_t> all;
    for (std::size_t at = 1; at < text.size(); ++at) all.push_back(at);
    require_equal(whole, test::transcript_of(text, own, all, most), "bytes one by one matter");
  }
  rewrite(read_whole(text, own, most), own);
  return 0;
}
