// SPDX-License-Identifier: BSL-1.0
// Forms with files: their pieces do not matter, no byte behind an input is read, limits are kept,
// and a form that is accepted has the data that a simple search for its boundary finds. The first
// byte chooses the boundary and the limits.
#include <numeric>
#include <vector>

#include "fuzz/http/fuzz.hpp"
#include "http/message/multipart_parser.hpp"

namespace {

using namespace beck::http;
using namespace beck::http::detail;
using namespace beck::http::fuzz;

struct outcome {
  std::vector<std::string> parts;  // whole ones: names, type and data
  std::vector<std::string> data;   // of these
  form_refusal reason = form_refusal::none;
};

/// Parses pieces that end at each of `ends`.
outcome parse(std::string_view boundary, const multipart_limits& bounds, std::string_view body,
              const std::vector<std::size_t>& ends) {
  multipart_parser parser(boundary, bounds);
  outcome o;
  std::string data;
  std::size_t at = 0;
  for (const std::size_t end : ends) {
    part_step step;
    do {
      const exact_copy piece(body.substr(at, end - at));
      step = parser.parse(piece.view());
      require(step.consumed <= piece.view().size(), "bytes behind the input were taken");
      require(piece.holds(step.data), "data outside the input");
      require(step.data.empty() == (step.event != part_event::data), "data without its event");
      at += step.consumed;
      if (step.event == part_event::head) data.clear();
      data += step.data;
      require(data.size() <= bounds.part_bytes, "a part above the limit");
      if (step.event != part_event::end) continue;
      const part_head& head = parser.head();
      o.parts.push_back(head.name + '\n' + head.file_name + '\n' + head.content_type + '\n' +
                        head.media_type + (head.is_file ? "\nfile\n" : "\nfield\n") + data);
      o.data.push_back(data);
      require(head.name.find_first_of(std::string_view("\0\r\n", 3)) == std::string::npos &&
                  head.file_name.find_first_of(std::string_view("\0\r\n", 3)) == std::string::npos,
              "a control character in a name");
    } while (step.event != part_event::refused &&
             (step.event != part_event::more || step.consumed != 0));
    if (step.event == part_event::refused) break;
    require(end - at <= parser.pending_max(), "more is left in the input than it may be");
  }
  const bool is_whole = parser.finish(body.substr(at));
  o.reason = parser.reason();
  require(is_whole == (o.reason == form_refusal::none), "whole, and refused");
  require(o.parts.size() <= bounds.parts, "more parts than the limit");
  require(at <= bounds.body_bytes, "more than the limit");
  return o;
}

void require_same(const outcome& a, const outcome& b, const char* what) {
  require(a.reason == b.reason && a.parts == b.parts, what);
}

/// The data of the parts of a form that was accepted.
std::vector<std::string> data_of(std::string_view boundary, std::string_view body) {
  const std::string delimiter = "\r\n--" + std::string(boundary);
  const std::string text = "\r\n" + std::string(body);
  std::vector<std::string> all;
  std::size_t at = text.find(delimiter);
  for (;;) {
    require(at != std::string::npos, "a form without a last boundary");
    const std::size_t begin = at + delimiter.size();
    if (text.compare(begin, 2, "--") == 0) return all;
    const std::size_t line = text.find_first_not_of(" \t", begin);
    require(line != std::string::npos && text.compare(line, 2, "\r\n") == 0, "a bad boundary line");
    at = text.find(delimiter, line);
    require(at != std::string::npos, "a part without an end");
    const std::string_view part = std::string_view(text).substr(line + 2, at - line - 2);
    const std::size_t empty = part.find("\r\n\r\n");
    all.emplace_back(empty == std::string_view::npos ? std::string_view() : part.substr(empty + 4));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  choices input(beck::http::fuzz::text_of(data, size));
  const unsigned choice = input.byte();
  const std::string_view body = input.rest();
  static const std::string longest(70, 'z');
  const std::string_view boundaries[] = {"b", "AaB03x", "-", "simple boundary", longest, "--"};
  const std::string_view boundary = boundaries[choice % 6];
  multipart_limits bounds;
  if (choice / 6 % 4 == 1) bounds = {.parts = 2, .part_bytes = 10};
  if (choice / 6 % 4 == 2) bounds = {.head_bytes = 0, .body_bytes = 300};
  if (choice / 6 % 4 == 3) bounds = {.part_bytes = choice, .body_bytes = 10 * choice};

  std::string from_type;
  static_cast<void>(read_boundary(body, from_type));  // as the Content-Type of a request

  const outcome whole = parse(boundary, bounds, body, {body.size()});
  at_splits(body, [&](std::size_t at) {
    require_same(whole, parse(boundary, bounds, body, {at, body.size()}), "a split matters");
  });
  if (body.size() <= 512) {
    std::vector<std::size_t> ends(body.size() + 1);
    std::iota(ends.begin(), ends.end(), std::size_t{0});
    require_same(whole, parse(boundary, bounds, body, ends), "bytes one by one matter");
  }
  if (whole.reason == form_refusal::none)
    require(whole.data == data_of(boundary, body), "other data");
  return 0;
}
