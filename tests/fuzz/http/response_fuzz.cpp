// SPDX-License-Identifier: BSL-1.0
// Responses: as request_fuzz, for each kind of request that decides how a response ends.
#include "fuzz/http/heads.hpp"

namespace {

using namespace beck::http;
using namespace beck::http::fuzz;

void rewrite(const response_head& head, method asked) {
  if (head.minor_version() != 1) return;
  if (number_of(head.status()) > 599) return;  // taken from servers, and never written
  std::string room(head.bytes() + 2 * head.size() + 64, '\0');
  head_writer writer(beck::mutable_buffer(room.data(), room.size()));
  writer.start(head.status(), head.reason());
  copy_fields(writer, head);
  const exact_copy text(writer.finish());
  require(writer.error() == head_error::none, "an accepted head cannot be written");
  response_parser parser;
  response_head again;
  require(parser.parse(text.view(), asked, again) == parse_status::done,
          "a written head is not read");
  require(head.status() == again.status(), "another status");
  // Without a reason the writer takes the registered one.
  require_equal(head.reason().empty() ? reason_of(head.status()) : head.reason(), again.reason(),
                "another reason");
  require_same(head, again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const exact_copy input(beck::http::fuzz::text_of(data, size));
  require_one_reading<test::response_reader>(input.view());
  for (const method asked : {method::get, method::head, method::connect}) {
    response_parser parser;
    response_head head;
    const parse_status status = parser.parse(input.view(), asked, head);
    require((status == parse_status::refused) == (parser.reason() != refusal::none),
            "a refusal without a reason");
    require(parser.offset() <= size, "refused behind the input");
    if (status != parse_status::done) return 0;
    require_inside(input, head);
    require(input.holds(head.reason()), "the reason is outside");
    rewrite(head, asked);
  }
  return 0;
}
