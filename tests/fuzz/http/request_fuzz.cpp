// SPDX-License-Identifier: BSL-1.0
// Requests: the way in which they arrive does not matter, views lie within the input, and a head
// that is written again is read as the same.
#include "fuzz/http/heads.hpp"

namespace {

using namespace beck::http;
using namespace beck::http::fuzz;

void rewrite(const request_head& head) {
  if (head.minor_version() != 1) return;  // the writer knows 1.1 only, which has other rules
  std::string room(head.bytes() + 2 * head.size() + 64, '\0');
  head_writer writer(beck::mutable_buffer(room.data(), room.size()));
  writer.start(head.method_text(), head.target());
  copy_fields(writer, head);
  const exact_copy text(writer.finish());
  require(writer.error() == head_error::none, "an accepted head cannot be written");
  request_parser parser;
  request_head again;
  require(parser.parse(text.view(), again) == parse_status::done, "a written head is not read");
  require(again.bytes() == text.view().size(), "a written head has another end");
  require_equal(head.method_text(), again.method_text(), "another method");
  require_equal(head.target(), again.target(), "another target");
  require(head.method() == again.method(), "a method has two meanings");
  require(head.expects_continue() == again.expects_continue(), "another expectation");
  require_same(head, again);
}

/// The host is one name or address, and its port a number.
void require_host(const request_head& head) {
  if (head.minor_version() == 1) require(head.has(field::host), "no host");
  if (!head.has(field::host)) return;
  require(!head.repeats(field::host), "two hosts");
  const std::string_view host = head.get(field::host);
  const std::size_t name_end = std::min(host.find(':', host.find(']') + 1), host.size());
  require(name_end != 0 && host.substr(0, name_end).find_first_of("/@?#, \t") == std::string::npos,
          "no host name");
  for (std::size_t i = name_end + 1; i < host.size(); ++i)
    require(host[i] >= '0' && host[i] <= '9', "a port that is no number");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const exact_copy input(beck::http::fuzz::text_of(data, size));
  require_one_reading<test::request_reader>(input.view());
  request_parser parser;
  request_head head;
  const parse_status status = parser.parse(input.view(), head);
  require((status == parse_status::refused) == (parser.reason() != refusal::none),
          "a refusal without a reason");
  require(parser.offset() <= size, "refused behind the input");
  if (status != parse_status::done) return 0;
  require_inside(input, head);
  require(input.holds(head.method_text()) && input.holds(head.target()), "the line is outside");
  require(head.method() == to_method(head.method_text()), "a method has two meanings");
  require_host(head);
  rewrite(head);
  return 0;
}
