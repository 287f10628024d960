// SPDX-License-Identifier: BSL-1.0
// Frames as text, for cases that speak WebSocket byte by byte, and what a peer has got.
#pragma once

#include <beck/websocket/codec.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace beck::websocket::test {

/// How a frame differs from a good one.
struct frame_style {
  bool masked = true;
  bool last = true;
  unsigned reserved = 0;      ///< 0 to 7
  unsigned length_bytes = 0;  ///< of the length, behind the first; 0: as many as it needs
  mask_key key{{0x11, '\xa2', 0x33, '\xc4'}};
};

/// Returns a frame with any opcode, right or wrong.
inline std::string frame(unsigned code, std::string_view data, frame_style how = {}) {
  std::string text;
  text += static_cast<char>((how.last ? 0x80U : 0U) | how.reserved << 4 | code);
  unsigned more = how.length_bytes;
  if (more == 0 && data.size() >= 126) more = data.size() <= 65535 ? 2 : 8;
  const std::uint64_t length = data.size();
  const unsigned first = more == 0 ? static_cast<unsigned>(length) : more == 2 ? 126 : 127;
  text += static_cast<char>((how.masked ? 0x80U : 0U) | first);
  while (more-- != 0) text += static_cast<char>(length >> (8 * more));
  std::string body(data);
  if (how.masked) {
    text.append(how.key.bytes, 4);
    for (std::size_t i = 0; i < body.size(); ++i)
      body[i] = static_cast<char>(body[i] ^ how.key.bytes[i % 4]);
  }
  return text + body;
}
inline std::string frame(opcode code, std::string_view data, frame_style how = {}) {
  return frame(static_cast<unsigned>(code), data, how);
}
inline frame_style part() { return {.last = false}; }
inline std::string text_frame(std::string_view data) { return frame(opcode::text, data); }
inline std::string ping_frame(std::string_view data) { return frame(opcode::ping, data); }
/// Returns the body of a close frame.
inline std::string close_body(unsigned code, std::string_view reason = {}) {
  std::string body;
  body += static_cast<char>(code >> 8);
  body += static_cast<char>(code);
  return body.append(reason);
}
inline std::string close_frame(unsigned code, std::string_view reason = {}) {
  return frame(opcode::close, close_body(code, reason));
}

/// Returns the transcript of what a decoder finds in `input`, cut at the places in `cuts`: such as
/// "text:ab+c ping:x close:1000:bye", or "refused:bad_text" at the end. Parts of a message are put
/// together, so that every split gives the same.
inline std::string transcript_of(std::string input, side own,
                                 const std::vector<std::size_t>& cuts = {},
                                 const frame_limits& most = {}) {
  frame_decoder decoder(own, most);
  std::string text, open;
  std::size_t at = 0;
  std::size_t cut = 0;
  const auto add = [&text](std::string_view one) {
    text.append(text.empty() ? "" : " ").append(one);
  };
  while (at < input.size()) {
    while (cut < cuts.size() && cuts[cut] <= at) ++cut;
    const std::size_t end = cut < cuts.size() ? cuts[cut] : input.size();
    const decoded_frame found = decoder.decode({input.data() + at, end - at});
    at += found.consumed;
    switch (found.event) {
      case frame_event::more:
        if (at != end) return "a decoder that stops";
        break;
      case frame_event::data:
        open.append(static_cast<const char*>(found.data.data()), found.data.size());
        if (!found.ends_message) break;
        add(decoder.kind() == message_kind::text ? "text:" : "binary:");
        text += open;
        open.clear();
        break;
      case frame_event::ping:
        add("ping:");
        text += decoder.control_text();
        break;
      case frame_event::pong:
        add("pong:");
        text += decoder.control_text();
        break;
      case frame_event::close:
        add("close:" + std::to_string(static_cast<int>(decoder.peer_code())) + ":");
        text += decoder.peer_reason();
        break;
      case frame_event::refused:
        add("refused:");
        return text.append(name_of(decoder.reason()));
    }
  }
  if (decoder.in_message()) add("open");
  return text;
}

/// Returns the transcript if every split in two, and byte by byte, gives the same; else a text that
/// says where it differs.
inline std::string transcript_at_all_splits(const std::string& input, side own,
                                            const frame_limits& most = {}) {
  const std::string whole = transcript_of(input, own, {}, most);
  std::vector<std::size_t> all;
  for (std::size_t at = 1; at < input.size(); ++at) {
    const std::string split = transcript_of(input, own, {at}, most);
    if (split != whole) return "split at " + std::to_string(at) + ": " + split;
    all.push_back(at);
  }
  const std::string bytes = transcript_of(input, own, all, most);
  return bytes == whole ? whole : "byte by byte: " + bytes;
}

}  // namespace beck::websocket::test
