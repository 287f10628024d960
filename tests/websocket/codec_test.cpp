// SPDX-License-Identifier: BSL-1.0
// Frames without I/O: the mask, heads, what a decoder accepts and refuses, at every split.
#include <beck/websocket/codec.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "support/small_random.hpp"
#include "websocket/frames.hpp"
#include "websocket/handshake.hpp"

using namespace beck::websocket;
using namespace beck::websocket::test;

namespace {

std::string as_server(const std::string& input, const frame_limits& most = {}) {
  return transcript_at_all_splits(input, side::server, most);
}
std::string as_client(const std::string& input) {
  return transcript_at_all_splits(input, side::client);
}
frame_style bare() { return {.masked = false}; }

std::string hex_of(const detail::sha1_hash& hash) {
  std::string text;
  for (const unsigned char byte : hash.bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace

TEST_CASE("websocket: the mask is the same at every offset, length and alignment") {
  const mask_key key{{'\x01', '\x80', '\x3f', '\xfe'}};
  std::string room(400, '\0');
  std::uint64_t cases = 0;
  for (std::size_t place = 0; place < 40; ++place) {
    for (std::size_t bytes = 0; bytes <= 300; ++bytes) {
      for (std::uint64_t offset = 0; offset < 5; ++offset) {
        for (std::size_t i = 0; i < room.size(); ++i) room[i] = static_cast<char>(i * 7);
        apply_mask(room.data() + place, bytes, key, offset);
        bool good = true;
        for (std::size_t i = 0; i < room.size(); ++i) {
          const bool masked = i >= place && i < place + bytes;
          const char mask = masked ? key.bytes[(i - place + offset) % 4] : '\0';
          good = good && room[i] == static_cast<char>(static_cast<char>(i * 7) ^ mask);
        }
        REQUIRE(good);
        ++cases;
      }
    }
  }
  CHECK(cases == 40 * 301 * 5);
}

TEST_CASE("websocket: heads are written with the shortest length") {
  const auto head_of = [](opcode kind, bool last, std::uint64_t bytes, const mask_key* key) {
    char room[frame_head_max];
    return std::string(room, write_frame_head(room, kind, last, bytes, key));
  };
  using namespace std::string_literals;
  const mask_key key{{'a', 'b', 'c', 'd'}};
  CHECK(head_of(opcode::text, true, 0, nullptr) == "\x81\x00"s);
  CHECK(head_of(opcode::binary, false, 125, nullptr) == "\x02\x7d"s);
  CHECK(head_of(opcode::continuation, true, 126, nullptr) == "\x80\x7e\x00\x7e"s);
  CHECK(head_of(opcode::text, true, 65535, &key) ==
        "\x81\xfe\xff\xff"
        "abcd"s);
  CHECK(head_of(opcode::text, true, 65536, nullptr) == "\x81\x7f\0\0\0\0\0\x01\0\0"s);
  CHECK(head_of(opcode::ping, true, 1, &key) ==
        "\x89\x81"
        "abcd"s);
  CHECK(head_of(opcode::text, true, INT64_MAX, &key).size() == frame_head_max);
}

TEST_CASE("websocket: good frames are decoded at every split") {
  CHECK(as_server(text_frame("Hello")) == "text:Hello");
  CHECK(as_client(frame(opcode::text, "Hello", bare())) == "text:Hello");
  CHECK(as_server(text_frame("")) == "text:");
  CHECK(as_server(frame(opcode::binary, std::string("\0\xff", 2))) ==
        "binary:" + std::string("\0\xff", 2));
  CHECK(as_server(frame(opcode::text, "a", part()) + ping_frame("p") +
                  frame(opcode::continuation, "b", part()) + frame(opcode::pong, "q") +
                  frame(opcode::continuation, "c") + close_frame(1000, "bye")) ==
        "ping:p pong:q text:abc close:1000:bye");
  CHECK(as_server(frame(opcode::close, "")) == "close:1005:");
  CHECK(as_server(close_frame(4999, "\xc3\xa4") + "rest") == "close:4999:\xc3\xa4");
  const std::string large(70'000, 'x');
  CHECK(transcript_of(text_frame(large), side::server, {1, 2, 5, 13, 14, 15, 40'000}) ==
        "text:" + large);
  CHECK(as_server(frame(opcode::text, std::string(126, 'y'))) == "text:" + std::string(126, 'y'));
  CHECK(as_server(frame(opcode::text, "a", part())) == "open");
}

TEST_CASE("websocket: every breach of the protocol is refused at every split, with its name") {
  for (unsigned bits = 1; bits < 8; ++bits) {
    CHECK(as_server(frame(opcode::text, "a", {.reserved = bits})) == "refused:reserved_bits");
    CHECK(as_server(frame(opcode::ping, "", {.reserved = bits})) == "refused:reserved_bits");
  }
  for (const unsigned code : {3U, 4U, 5U, 6U, 7U, 11U, 12U, 13U, 14U, 15U})
    CHECK(as_server(frame(code, "")) == "refused:bad_opcode");
  for (const opcode code : {opcode::close, opcode::ping, opcode::pong}) {
    CHECK(as_server(frame(code, "", part())) == "refused:control_fragmented");
    CHECK(as_server(frame(code, std::string(126, 'p'))) == "refused:control_too_long");
    CHECK(as_server(frame(code, "p", {.length_bytes = 8})) == "refused:control_too_long");
  }
  CHECK(as_server(ping_frame(std::string(125, 'p'))) == "ping:" + std::string(125, 'p'));
  CHECK(as_server(frame(opcode::text, "a", {.length_bytes = 2})) == "refused:length_not_minimal");
  CHECK(as_server(frame(opcode::text, "a", {.length_bytes = 8})) == "refused:length_not_minimal");
  CHECK(as_server(frame(opcode::text, std::string(126, 'a'), {.length_bytes = 8})) ==
        "refused:length_not_minimal");
  CHECK(as_server(std::string("\x82\xff\x80\0\0\0\0\0\0\0abcd", 14)) == "refused:length_too_large");
  CHECK(as_server(frame(opcode::text, "a", bare())) == "refused:not_masked");
  CHECK(as_server(frame(opcode::ping, "", bare())) == "refused:not_masked");
  CHECK(as_client(text_frame("a")) == "refused:masked");
  CHECK(as_server(frame(opcode::continuation, "a")) == "refused:unexpected_continuation");
  CHECK(as_server(text_frame("a") + frame(opcode::continuation, "a")) ==
        "text:a refused:unexpected_continuation");
  CHECK(as_server(frame(opcode::text, "a", part()) + text_frame("b")) ==
        "refused:message_unfinished");
  CHECK(as_server(frame(opcode::close, "x")) == "refused:bad_close");
  CHECK(as_server(close_frame(1000, "\xff")) == "refused:bad_text");
  CHECK(as_server(close_frame(1000, "\xc3")) == "refused:bad_text");
}

TEST_CASE("websocket: a decoder stays refused, and consumes what follows a close frame") {
  std::string input = frame(opcode::text, "a", bare()) + text_frame("b");
  frame_decoder refused(side::server);
  const beck::mutable_buffer all(input.data(), input.size());
  CHECK(refused.decode(all).event == frame_event::refused);
  CHECK(refused.decode(all).event == frame_event::refused);
  CHECK(refused.decode({}).event == frame_event::refused);
  input = ping_frame("text") + frame(opcode::close, "");
  frame_decoder closed(side::server);
  const std::size_t ping = closed.decode({input.data(), input.size()}).consumed;
  CHECK(closed.control_text() == "text");
  CHECK(closed.peer_reason().empty());
  input.erase(0, ping);
  CHECK(closed.peer_code() == close_code::none);
  CHECK(closed.decode({input.data(), input.size()}).event == frame_event::close);
  char more[10] = {};
  const decoded_frame found = closed.decode({more, sizeof more});
  CHECK(found.event == frame_event::more);
  CHECK(found.consumed == sizeof more);
}

TEST_CASE("websocket: close codes are those that may be sent") {
  for (unsigned code = 0; code < 65536; code += code < 5100 ? 1 : 97) {
    const bool good = (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
                      (code >= 3000 && code < 5000);
    const std::string got = transcript_of(close_frame(code), side::server);
    REQUIRE(got == (good ? "close:" + std::to_string(code) + ":" : "refused:bad_close"));
    REQUIRE(may_be_sent(static_cast<close_code>(code)) == good);
  }
}

TEST_CASE("websocket: limits are compared as soon as a head is whole") {
  frame_limits most;
  most.frame_bytes = 100;
  most.message_bytes = 150;
  const std::string full(100, 'a');
  CHECK(as_server(text_frame(full), most) == "text:" + full);
  CHECK(as_server(text_frame(full + "a").substr(0, 6), most) == "refused:frame_too_long");
  const std::string half = frame(opcode::text, std::string(80, 'a'), part());
  CHECK(as_server(half + frame(opcode::continuation, std::string(70, 'b')), most) ==
        "text:" + std::string(80, 'a') + std::string(70, 'b'));
  CHECK(as_server(half + frame(opcode::continuation, std::string(71, 'b')).substr(0, 6), most) ==
        "refused:message_too_long");
  const std::string third = frame(opcode::continuation, std::string(35, 'b'), part());
  CHECK(as_server(half + third + third + frame(opcode::continuation, ""), most) ==
        "text:" + std::string(80, 'a') + std::string(70, 'b'));
  CHECK(as_server(half + third + third + frame(opcode::continuation, "c").substr(0, 6), most) ==
        "refused:message_too_long");
  CHECK(as_server(half + frame(opcode::continuation, std::string(70, 'b')) + text_frame(full), most)
            .find("refused") == std::string::npos);
}

namespace {

/// Returns whether `text` is UTF-8, and whether it can go on if it is cut, by the table of RFC 3629
/// written out: a second opinion.
bool is_good(const std::string& text, bool cut) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned lead = byte(i);
    const std::size_t size = lead < 0x80       ? 1
                             : lead >> 5 == 6  ? 2
                             : lead >> 4 == 14 ? 3
                             : lead >> 3 == 30 ? 4
                                               : 0;
    if (size == 0) return false;
    std::uint32_t low = lead & (size == 1 ? 0x7f : 0xff >> (size + 1));
    std::uint32_t high = low;
    for (std::size_t k = 1; k < size; ++k) {
      const bool there = i + k < text.size();
      if (there && byte(i + k) >> 6 != 2) return false;
      low = low << 6 | (there ? byte(i + k) & 0x3f : 0);
      high = high << 6 | (there ? byte(i + k) & 0x3f : 0x3f);
    }
    if (i + size > text.size() && !cut) return false;
    // Is there a character with these bytes in front?
    const std::uint32_t least = size == 1 ? 0 : size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000;
    low = low < least ? least : low;
    high = high > 0x10ffff ? 0x10ffff : high;
    if (low >= 0xd800 && low <= 0xdfff) low = 0xe000;
    if (high >= 0xd800 && high <= 0xdfff) high = 0xd7ff;
    if (low > high) return false;
    i += size;
  }
  return true;
}

}  // namespace

TEST_CASE("websocket: bad UTF-8 is refused at its first bad byte, whatever the split") {
  // All texts of one to three bytes from those that decide, behind and before plain text.
  const std::string bytes =
      "a\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe1\xec\xed\xee\xef\xf0\xf1\xf3\xf4\xf5"
      "\xff";
  std::vector<std::string> texts{""};
  std::size_t cases = 0;
  for (std::size_t length = 1; length <= 4; ++length) {
    std::vector<std::string> longer;
    for (const std::string& text : texts) {
      for (const char byte : bytes) {
        const std::string one = text + byte;
        detail::utf8_state whole;
        const bool fed = whole.feed(one.data(), one.size());
        REQUIRE(fed == is_good(one, true));
        REQUIRE((fed && whole.is_whole()) == is_good(one, false));
        ++cases;
        if (length == 4) continue;
        if (fed) longer.push_back(one);
        for (std::size_t at = 1; at < one.size(); ++at) {
          detail::utf8_state split;
          const bool first = split.feed(one.data(), at);
          REQUIRE(first == is_good(one.substr(0, at), true));
          if (first) REQUIRE(split.feed(one.data() + at, one.size() - at) == fed);
        }
      }
    }
    texts = longer;
  }
  CHECK(cases > 5'000);
  for (std::size_t before = 0; before < 70; ++before) {  // past each of the fast ways
    const std::string plain(before, 'a');
    for (const std::string& bad : {std::string("\xff"), std::string("\xc3(")}) {
      detail::utf8_state state;
      const std::string text = plain + bad;
      REQUIRE(state.feed(plain.data(), plain.size()));
      REQUIRE(!state.feed(bad.data(), bad.size()));
      detail::utf8_state whole;
      REQUIRE(!whole.feed(text.data(), text.size()));
    }
  }
}

TEST_CASE("websocket: text that is cut inside a character is refused at the end of its message") {
  CHECK(as_server(text_frame("\xe2\x82\xac")) == "text:\xe2\x82\xac");
  CHECK(as_server(frame(opcode::text, "\xe2", part()) +
                  frame(opcode::continuation, "\x82", part()) +
                  frame(opcode::continuation, "\xac")) == "text:\xe2\x82\xac");
  CHECK(as_server(frame(opcode::text, "\xe2\x82")) == "refused:bad_text");
  CHECK(as_server(frame(opcode::text, "\xe2\x82", part()) + frame(opcode::continuation, "")) ==
        "refused:bad_text");
  CHECK(as_server(frame(opcode::binary, "\xe2\x82")) == "binary:\xe2\x82");
  // The first bad byte is enough: nothing behind it has to come.
  const std::string early =
      frame(opcode::text, std::string(1000, 'a') + "\xff" + std::string(9, 'b'));
  CHECK(transcript_of(early.substr(0, 8 + 1001), side::server) == "refused:bad_text");
}

TEST_CASE("websocket: random frames at random splits are what they are whole") {
  beck::testing::small_random random(7);
  for (int round = 0; round < 300; ++round) {
    std::string input;
    bool open = false;
    for (unsigned i = 0; i < 1 + random.below(8); ++i) {
      std::string data(random.below(random.chance(100) ? 70'000 : 200), 'a');
      for (char& c : data) c = static_cast<char>('a' + random.below(26));
      frame_style how;
      how.last = random.chance(600);
      how.key.bytes[1] = static_cast<char>(random.below(256));
      if (random.chance(300)) {
        input += ping_frame(data.substr(0, 125));
      } else {
        input += frame(open ? opcode::continuation : opcode::text, data, how);
        open = !how.last;
      }
    }
    frame_limits most;
    most.message_bytes = 1 << 22;
    const std::string whole = transcript_of(input, side::server, {}, most);
    std::vector<std::size_t> cuts;
    for (std::size_t at = 0; (at += 1 + random.below(2000)) < input.size();) cuts.push_back(at);
    REQUIRE(transcript_of(input, side::server, cuts, most) == whole);
  }
}

TEST_CASE("websocket: SHA-1 is that of its standard") {
  using detail::sha1;
  CHECK(hex_of(sha1("")) == "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  CHECK(hex_of(sha1("abc")) == "a9993e364706816aba3e25717850c26c9cd0d89d");
  CHECK(hex_of(sha1("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  CHECK(hex_of(sha1(std::string(1'000'000, 'a'))) == "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
  CHECK(hex_of(sha1(std::string(55, 'a'))) == "c1c8bbdc22796e28c0e15163d20899b65621d65a");
  CHECK(hex_of(sha1(std::string(64, 'a'))) == "0098ba824b5c16427bd7a1122a5a442a25ec644d");
  CHECK(detail::accept_value("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  CHECK(detail::is_key("dGhlIHNhbXBsZSBub25jZQ=="));
  CHECK(!detail::is_key("dGhlIHNhbXBsZSBub25jZQ="));
  CHECK(!detail::is_key("dGhlIHNhbXBsZSBub25jZQ=x"));
  CHECK(!detail::is_key("dGhlIHNhbXBsZSBub25jZ_=="));
  CHECK(!detail::is_key(""));
}
