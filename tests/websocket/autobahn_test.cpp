// SPDX-License-Identifier: BSL-1.0
// The cases 1 to 7 of the Autobahn test suite, written down as vectors: frames of a client and the
// frames that an echo server has to answer with. Each runs whole and, if it is short, byte by byte.
#include <string>
#include <vector>

#include "support/conformance.hpp"
#include "websocket/site.hpp"

using namespace beck::websocket;
using namespace beck::websocket::test;
using beck::test::report_value;

namespace {

/// One case. A failure of the protocol ends with the server's close frame.
struct vector_case {
  std::string name;
  std::string frames;
  std::string answer;
};

const std::string bye = close_frame(1000);
const std::string closed = "close:1000:";
const std::string broken = "close:1002:";
const std::string not_text = "close:1007:";

std::string joined(std::string_view first, std::string_view then) {
  return std::string(first).append(first.empty() ? "" : " ").append(then);
}
std::string next_part(std::string_view data, bool last = false) {
  return frame(opcode::continuation, data, {.last = last});
}
std::string first_part(std::string_view data) { return frame(opcode::text, data, part()); }
/// Returns a message in fragments of `bytes` bytes.
std::string in_fragments(std::string_view data, std::size_t bytes) {
  std::string frames;
  for (std::size_t at = 0; at < data.size(); at += bytes) {
    frames += frame(at == 0 ? opcode::text : opcode::continuation, data.substr(at, bytes),
                    {.last = at + bytes >= data.size()});
  }
  return frames;
}

std::vector<vector_case> echoes_and_pings() {
  std::vector<vector_case> all;
  for (const unsigned bytes : {0U, 125U, 126U, 127U, 128U, 65535U, 65536U}) {
    const std::string data(bytes, '*');
    const std::string binary(bytes, '\xfe');
    all.push_back(
        {"1.1 " + std::to_string(bytes), text_frame(data) + bye, joined("text:" + data, closed)});
    all.push_back({"1.2 " + std::to_string(bytes), frame(opcode::binary, binary) + bye,
                   joined("binary:" + binary, closed)});
  }
  const std::string odd("\x00\xff\xfe\xfd\xfc\xfb\x00\xff", 8);
  const std::string full(125, '\xfe');
  all.push_back({"2.1", ping_frame("") + bye, joined("pong:", closed)});
  all.push_back({"2.2", ping_frame("Hello") + bye, joined("pong:Hello", closed)});
  all.push_back({"2.3", ping_frame(odd) + bye, joined("pong:" + odd, closed)});
  all.push_back({"2.4", ping_frame(full) + bye, joined("pong:" + full, closed)});
  all.push_back({"2.5", ping_frame(full + "x") + bye, broken});
  all.push_back({"2.7", frame(opcode::pong, "") + bye, closed});
  all.push_back({"2.8", frame(opcode::pong, "unsolicited") + bye, closed});
  all.push_back({"2.9", frame(opcode::pong, "unsolicited") + ping_frame("ping") + bye,
                 joined("pong:ping", closed)});
  std::string pings, pongs;
  for (int i = 0; i < 10; ++i) {
    pings += ping_frame("payload-" + std::to_string(i));
    pongs += "pong:payload-" + std::to_string(i) + " ";
  }
  all.push_back({"2.10", pings + bye, pongs + closed});
  return all;
}

std::vector<vector_case> heads() {
  std::vector<vector_case> all;
  const std::string hello = text_frame("Hello");
  const auto reserved = [](opcode code, unsigned bits, std::string_view data) {
    return frame(code, data, {.reserved = bits});
  };
  all.push_back({"3.1", reserved(opcode::text, 1, "Hello") + bye, broken});
  all.push_back({"3.2", hello + reserved(opcode::text, 2, "Hello") + ping_frame(""),
                 joined("text:Hello", broken)});
  all.push_back({"3.3", hello + reserved(opcode::text, 3, "Hello") + ping_frame(""),
                 joined("text:Hello", broken)});
  all.push_back({"3.4", hello + reserved(opcode::text, 4, "Hello") + ping_frame(""),
                 joined("text:Hello", broken)});
  all.push_back({"3.5", reserved(opcode::binary, 5, "\xff"), broken});
  all.push_back({"3.6", reserved(opcode::ping, 6, "Hello"), broken});
  all.push_back({"3.7", reserved(opcode::close, 7, close_body(1000)), broken});
  for (const unsigned code : {3U, 4U, 5U, 6U, 7U, 11U, 12U, 13U, 14U, 15U}) {
    const std::string name = (code < 8 ? "4.1 " : "4.2 ") + std::to_string(code);
    all.push_back({name, frame(code, ""), broken});
    all.push_back({name + " with data", frame(code, "reserved") + ping_frame(""), broken});
    all.push_back({name + " behind text", hello + frame(code, "x") + ping_frame(""),
                   joined("text:Hello", broken)});
  }
  return all;
}

std::vector<vector_case> fragments() {
  std::vector<vector_case> all;
  const std::string two = first_part("fragment1") + next_part("fragment2", true);
  const std::string whole = "text:fragment1fragment2";
  all.push_back(
      {"5.1", frame(opcode::ping, "fragment1", part()) + next_part("fragment2", true), broken});
  all.push_back(
      {"5.2", frame(opcode::pong, "fragment1", part()) + next_part("fragment2", true), broken});
  all.push_back({"5.3", two + bye, joined(whole, closed)});
  all.push_back({"5.6",
                 first_part("fragment1") + ping_frame("ping") + next_part("fragment2", true) + bye,
                 "pong:ping " + joined(whole, closed)});
  all.push_back({"5.9", next_part("no", true) + text_frame("Hello") + bye, broken});
  all.push_back({"5.12", next_part("no") + text_frame("Hello") + bye, broken});
  all.push_back(
      {"5.15", two + next_part("fragment3") + next_part("fragment4", true), joined(whole, broken)});
  all.push_back({"5.16", next_part("fragment1") + text_frame("fragment2"), broken});
  all.push_back({"5.17", next_part("fragment1", true) + text_frame("fragment2"), broken});
  all.push_back({"5.18", first_part("fragment1") + text_frame("fragment2"), broken});
  all.push_back({"5.19",
                 first_part("1") + next_part("2") + ping_frame("ping 1") + next_part("3") +
                     next_part("4") + ping_frame("ping 2") + next_part("5", true) + bye,
                 joined("pong:ping 1 pong:ping 2 text:12345", closed)});
  return all;
}

/// Good and bad texts: each whole, and in fragments of an octet.
struct text_cases {
  void good(const std::string& name, const std::string& text) {
    all.push_back({"6 good " + name, text_frame(text) + bye, joined("text:" + text, closed)});
    all.push_back(
        {"6 good octets " + name, in_fragments(text, 1) + bye, joined("text:" + text, closed)});
  }
  void bad(const std::string& name, const std::string& text) {
    all.push_back({"6 bad " + name, text_frame(text) + bye, not_text});
    all.push_back({"6 bad octets " + name, in_fragments(text, 1) + bye, not_text});
  }
  void add_messages();
  void add_characters();
  void add_wrong_characters();

  std::vector<vector_case> all;
};

/// 6.1 to 6.4: empty parts, text that is cut in characters, failing early.
void text_cases::add_messages() {
  const std::string kosme = "\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5";
  all.push_back({"6.1.1", text_frame("") + bye, joined("text:", closed)});
  all.push_back({"6.1.2", first_part("") + next_part("") + next_part("", true) + bye,
                 joined("text:", closed)});
  all.push_back({"6.1.3", first_part("") + next_part("middle") + next_part("", true) + bye,
                 joined("text:middle", closed)});
  good("6.2", "Hello-\xc2\xb5@\xc3\x9f\xc3\xb6\xc3\xa4\xc3\xbc\xc3\xa0\xc3\xa1-UTF-8!!");
  good("6.2.4", kosme);
  bad("6.3.1", kosme +
                   "\xed\xa0\x80"
                   "edited");
  // 6.4: what is behind the bad bytes has not come, and need not.
  all.push_back({"6.4.1", first_part(kosme) + next_part("\xf4\x90\x80\x80"), not_text});
  all.push_back({"6.4.2", first_part(kosme + "\xf4") + next_part("\x90"), not_text});
  all.push_back({"6.4.3",
                 frame(opcode::text, kosme + "\xf4\x90\x80\x80"
                                             "edited")
                     .substr(0, 6 + 13),
                 not_text});
}

/// 6.5 to 6.11, 6.22, 6.23: the first and last characters of each length, and what is cut.
void text_cases::add_characters() {
  good("6.6.2", "\xce\xba");
  bad("6.6.1", "\xce");
  bad("6.6.3", "\xce\xba\xe1");
  bad("6.6.4", "\xce\xba\xe1\xbd");
  good("6.6.5", "\xce\xba\xe1\xbd\xb9");
  good("6.7.1", std::string(1, '\0'));
  good("6.7.2", "\xc2\x80");
  good("6.7.3", "\xe0\xa0\x80");
  good("6.7.4", "\xf0\x90\x80\x80");
  bad("6.8.1", "\xf8\x88\x80\x80\x80");
  bad("6.8.2", "\xfc\x84\x80\x80\x80\x80");
  good("6.9.1", "\x7f");
  good("6.9.2", "\xdf\xbf");
  good("6.9.3", "\xef\xbf\xbf");
  good("6.9.4", "\xf4\x8f\xbf\xbf");
  bad("6.10.1", "\xf7\xbf\xbf\xbf");
  bad("6.10.2", "\xfb\xbf\xbf\xbf\xbf");
  bad("6.10.3", "\xfd\xbf\xbf\xbf\xbf\xbf");
  good("6.11.1", "\xed\x9f\xbf");
  good("6.11.2", "\xee\x80\x80");
  good("6.11.3", "\xef\xbf\xbd");
  good("6.11.4", "\xf4\x8f\xbf\xbf");
  bad("6.11.5", "\xf4\x90\x80\x80");
  for (int plane = 0; plane < 16; ++plane) {
    const char lead = static_cast<char>(0xf0 | plane >> 2);
    const char second = static_cast<char>(0x8f | (plane & 3) << 4);
    if (plane == 0) continue;  // U+FFFF is 6.9.3
    good("6.22 " + std::to_string(plane), std::string{lead, second} + "\xbf\xbe");
  }
  for (const char* special : {"\xef\xbf\xb9", "\xef\xbf\xba", "\xef\xbf\xbb", "\xef\xbf\xbc"})
    good("6.23", special);
}

/// 6.12 to 6.21: bytes that are no characters.
void text_cases::add_wrong_characters() {
  for (std::size_t count = 1; count < 8; ++count)
    bad("6.12." + std::to_string(count),
        std::string("\x80\xbf\x80\xbf\x80\xbf\x80\xbf").substr(0, count));
  for (int lead = 0xc0; lead < 0xfe; lead += 3)
    bad("6.13 " + std::to_string(lead), std::string(1, static_cast<char>(lead)) + " ");
  bad("6.14.1", "\xc3");
  bad("6.14.2", "\xe0\x80");
  bad("6.14.3", "\xf0\x80\x80");
  bad("6.14.6", "\xdf");
  bad("6.14.7", "\xef\xbf");
  bad("6.14.8", "\xf7\xbf\xbf");
  bad("6.15.1", "\xc0\xe0\x80\xf0\x80\x80\xf8\x80\x80\x80\xfc\x80\x80\x80\x80");
  bad("6.16.1", "\xfe");
  bad("6.16.2", "\xff");
  bad("6.16.3", "\xfe\xfe\xff\xff");
  bad("6.17.1", "\xc0\xaf");
  bad("6.17.2", "\xe0\x80\xaf");
  bad("6.17.3", "\xf0\x80\x80\xaf");
  bad("6.18.1", "\xc1\xbf");
  bad("6.18.2", "\xe0\x9f\xbf");
  bad("6.18.3", "\xf0\x8f\xbf\xbf");
  bad("6.19.1", "\xc0\x80");
  bad("6.19.2", "\xe0\x80\x80");
  for (const char* surrogate : {"\xed\xa0\x80", "\xed\xad\xbf", "\xed\xae\x80", "\xed\xaf\xbf",
                                "\xed\xb0\x80", "\xed\xbe\x80", "\xed\xbf\xbf"}) {
    bad("6.20", surrogate);
    bad("6.21", std::string(surrogate) + "\xed\xb0\x80");
  }
}

std::vector<vector_case> texts() {
  text_cases cases;
  cases.add_messages();
  cases.add_characters();
  cases.add_wrong_characters();
  return cases.all;
}

std::vector<vector_case> closes() {
  std::vector<vector_case> all;
  const std::string hello = text_frame("Hello");
  all.push_back({"7.1.1", hello + bye, joined("text:Hello", closed)});
  all.push_back({"7.1.2", bye + bye, closed});
  all.push_back({"7.1.3", bye + ping_frame("ignored"), closed});
  all.push_back({"7.1.4", bye + hello, closed});
  all.push_back({"7.1.5", first_part("fragment1") + bye + next_part("fragment2", true), closed});
  const std::string large(256 * 1024, 'B');
  all.push_back({"7.1.6", text_frame(large) + hello + bye + ping_frame(""),
                 joined("text:" + large + " text:Hello", closed)});
  all.push_back({"7.3.1", frame(opcode::close, ""), "close:1005:"});
  all.push_back({"7.3.2", frame(opcode::close, "a"), broken});
  all.push_back({"7.3.3", close_frame(1000), closed});
  all.push_back({"7.3.4", close_frame(1000, "Hello World!"), closed});
  all.push_back({"7.3.5", close_frame(1000, std::string(123, '*')), closed});
  all.push_back({"7.3.6", close_frame(1000, std::string(124, '*')), broken});
  all.push_back({"7.5.1", close_frame(1000, "\xce\xba\xed\xa0\x80"), not_text});
  for (const unsigned code : {1000U, 1001U, 1002U, 1003U, 1007U, 1008U, 1009U, 1010U, 1011U, 3000U,
                              3999U, 4000U, 4999U}) {
    all.push_back(
        {"7.7 " + std::to_string(code), close_frame(code), "close:" + std::to_string(code) + ":"});
  }
  for (const unsigned code : {0U, 999U, 1004U, 1005U, 1006U, 1015U, 1016U, 1100U, 2000U, 2999U}) {
    all.push_back({"7.9 " + std::to_string(code), close_frame(code), broken});
    all.push_back({"7.9 text " + std::to_string(code), close_frame(code, "reason"), broken});
  }
  all.push_back({"7.13.1", close_frame(5000), broken});
  all.push_back({"7.13.2", close_frame(65535), broken});
  return all;
}

long long run_cases(const std::vector<vector_case>& all) {
  served s(echo_site{});
  for (const vector_case& one : all) {
    CAPTURE(one.name);
    CHECK(talk(s, one.frames) == one.answer);
    if (one.frames.size() < 300) CHECK(talk(s, one.frames, 1) == one.answer);
  }
  s.run_until([&] { return s.server.stats().connections == 0; });
  return static_cast<long long>(all.size());
}

}  // namespace

CONFORMANCE("websocket: Autobahn's cases 1 and 2, messages of all sizes and pings") {
  report_value("ws.vectors", run_cases(echoes_and_pings()));
}

CONFORMANCE("websocket: Autobahn's cases 3 and 4, reserved bits and opcodes") {
  report_value("ws.vectors", run_cases(heads()));
}

CONFORMANCE("websocket: Autobahn's cases 5, fragments") {
  report_value("ws.vectors", run_cases(fragments()));
}

CONFORMANCE("websocket: Autobahn's cases 6, UTF-8") {
  report_value("ws.vectors", run_cases(texts()));
}

CONFORMANCE("websocket: Autobahn's cases 7, closes") {
  report_value("ws.vectors", run_cases(closes()));
}
