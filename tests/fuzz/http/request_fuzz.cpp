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
  rewrite(head);
  return 0;
}
