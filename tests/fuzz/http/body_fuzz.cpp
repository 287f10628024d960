// SPDX-License-Identifier: BSL-1.0
// Bodies: their pieces do not matter, no byte behind the end is taken, and chunks give the data
// that a simple decoder finds. The first byte chooses framing and limits.
#include <beck/http/body_decoder.hpp>

#include <numeric>
#include <vector>

#include "fuzz/http/fuzz.hpp"

namespace {

using namespace beck::http;
using namespace beck::http::fuzz;

struct outcome {
  std::string body;
  std::size_t consumed = 0;
  parse_status status = parse_status::more;
  refusal reason = refusal::none;
};

/// Decodes pieces that end at each of `ends`.
outcome decode(const request_head& head, const body_limits& limits, std::string_view input,
               const std::vector<std::size_t>& ends) {
  body_decoder decoder(head, limits);
  outcome o;
  for (const std::size_t end : ends) {
    for (;;) {
      const exact_copy piece(input.substr(o.consumed, end - o.consumed));
      const body_part part = decoder.decode(piece.view());
      require(part.consumed <= piece.view().size(), "bytes behind the input were taken");
      require(piece.holds(part.data), "data outside the input");
      require(part.data.empty() ||
                  part.data.data() + part.data.size() <= piece.view().data() + part.consumed,
              "data that was not taken");
      o.consumed += part.consumed;
      o.body += part.data;
      o.status = part.status;
      if (part.status != parse_status::more || part.consumed == 0) break;
    }
    if (o.status != parse_status::more) break;
  }
  o.reason = decoder.reason();
  require(decoder.bytes() == o.body.size(), "another number of bytes");
  require(decoder.bytes() <= limits.body_bytes, "more than the limit");
  require(decoder.is_done() == (o.status == parse_status::done), "done, or not");
  return o;
}

void require_same(const outcome& a, const outcome& b, const char* what) {
  require(a.status == b.status && a.reason == b.reason, what);
  if (a.status == parse_status::refused) return;  // how much came before may differ
  require_equal(a.body, b.body, what);
  require(a.consumed == b.consumed, what);
}

/// The data of a chunked body that was accepted, and so must be well-formed.
std::string data_of(std::string_view chunked) {
  std::string data;
  for (;;) {
    const std::size_t line = chunked.find("\r\n");
    require(line != std::string_view::npos && chunked.find('\n') == line + 1, "a bad size line");
    const std::size_t digits = chunked.find_first_not_of("0123456789abcdefABCDEF");
    require(digits != 0 && (digits == line || chunked[digits] == ';'), "a bad size");
    const std::size_t bytes = std::stoul(std::string(chunked.substr(0, digits)), nullptr, 16);
    if (bytes == 0) return data;
    chunked.remove_prefix(line + 2);
    data += chunked.substr(0, bytes);
    require(chunked.substr(bytes, 2) == "\r\n", "data without an end");
    chunked.remove_prefix(bytes + 2);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  choices input(beck::http::fuzz::text_of(data, size));
  const unsigned choice = input.byte();
  const std::string_view body = input.rest();
  std::string text = "POST / HTTP/1.1\r\nHost: a\r\n";
  const bool chunked = choice % 4 != 0;
  text += chunked ? "Transfer-Encoding: chunked\r\n\r\n"
                  : "Content-Length: " + std::to_string(choice) + "\r\n\r\n";
  request_parser parser;
  request_head head;
  require(parser.parse(text, head) == parse_status::done, "the head of every input");
  body_limits limits;
  if (choice % 4 == 2) limits = {20, 16, 24, 40, 2};

  const outcome whole = decode(head, limits, body, {body.size()});
  at_splits(body, [&](std::size_t at) {
    require_same(whole, decode(head, limits, body, {at, body.size()}), "a split matters");
  });
  if (body.size() <= 512) {
    std::vector<std::size_t> ends(body.size() + 1);
    std::iota(ends.begin(), ends.end(), std::size_t{0});
    require_same(whole, decode(head, limits, body, ends), "bytes one by one matter");
  }
  if (whole.status == parse_status::done && chunked) {
    require_equal(whole.body, data_of(body), "other data");
    const std::string_view taken = body.substr(0, whole.consumed);
    require(taken.size() > 4 && taken.substr(taken.size() - 4) == "\r\n\r\n", "another end");
  }
  return 0;
}
