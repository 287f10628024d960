// SPDX-License-Identifier: BSL-1.0
// Server-sent events: the pieces of a stream do not matter, and the events are those of a simple
// parser that has the whole stream. The first byte chooses the limits.
#include <numeric>
#include <vector>

#include "fuzz/http/fuzz.hpp"
#include "http/message/event_parser.hpp"

namespace {

using namespace beck::http;
using namespace beck::http::detail;
using namespace beck::http::fuzz;

/// Adds an event to a list, as a text that no other event has.
void note(std::string& to, std::string_view name, std::string_view data, std::string_view id) {
  for (const std::string_view each : {name, data, id})
    to.append(std::to_string(each.size())).append(":").append(each);
}

/// Parses pieces that end at each of `ends`.
std::string parse(const event_limits& bounds, std::string_view stream,
                  const std::vector<std::size_t>& ends) {
  event_parser parser(bounds);
  std::string all;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    const exact_copy piece(stream.substr(begin, end - begin));
    begin = end;
    std::string_view left = piece.view();
    for (;;) {
      const event_status status = parser.parse(left);
      if (status == event_status::too_long) return all + "too long";
      if (status == event_status::more) break;
      std::string name, data;
      parser.take(name, data);
      require(data.size() <= bounds.event_bytes, "an event above the limit");
      note(all, name, data, parser.last_id());
    }
    require(left.empty(), "input that was not taken");
  }
  if (parser.retry_ms()) all += "retry " + std::to_string(*parser.retry_ms());
  return all;
}

/// The algorithm of the standard, in its words.
std::string interpret(std::string_view stream) {
  std::string all, data, event_type, id, last_id;
  std::string retry;
  if (stream.starts_with("\xEF\xBB\xBF")) stream.remove_prefix(3);
  for (;;) {
    const std::size_t end = stream.find_first_of("\r\n");
    if (end == std::string_view::npos) break;
    const std::string_view line = stream.substr(0, end);
    stream.remove_prefix(stream.substr(end, 2) == "\r\n" ? end + 2 : end + 1);
    if (line.empty()) {
      last_id = id;
      if (!data.empty()) {
        data.pop_back();
        note(all, event_type.empty() ? "message" : event_type, data, last_id);
      }
      data.clear();
      event_type.clear();
      continue;
    }
    const std::size_t colon = line.find(':');
    const std::string_view field = line.substr(0, colon);
    std::string_view value;
    if (colon != std::string_view::npos) value = line.substr(colon + 1);
    if (!value.empty() && value[0] == ' ') value.remove_prefix(1);
    if (field == "event") event_type = value;
    if (field == "data") data.append(value).append("\n");
    if (field == "id" && value.find('\0') == std::string_view::npos) id = value;
    const bool digits = value.find_first_not_of("0123456789") == std::string_view::npos;
    if (field == "retry" && digits && !value.empty()) {
      const std::size_t first = std::min(value.find_first_not_of('0'), value.size() - 1);
      const std::string_view number = value.substr(first);
      retry = "retry " + std::string(number.size() > 12 ? "1000000000000" : number);
    }
  }
  return all + retry;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  choices input(beck::http::fuzz::text_of(data, size));
  const unsigned choice = input.byte();
  const std::string_view stream = input.rest();
  event_limits bounds;
  if (choice % 4 == 1) bounds = {.line_bytes = choice / 4, .event_bytes = 1000};
  if (choice % 4 == 2) bounds = {.line_bytes = 100, .event_bytes = choice / 4};

  const std::string whole = parse(bounds, stream, {stream.size()});
  at_splits(stream, [&](std::size_t at) {
    require_equal(whole, parse(bounds, stream, {at, stream.size()}), "a split matters");
  });
  if (stream.size() <= 512) {
    std::vector<std::size_t> ends(stream.size() + 1);
    std::iota(ends.begin(), ends.end(), std::size_t{0});
    require_equal(whole, parse(bounds, stream, ends), "bytes one by one matter");
  }
  if (choice % 4 == 0 || choice % 4 == 3) require_equal(whole, interpret(stream), "other events");
  return 0;
}
