// SPDX-License-Identifier: BSL-1.0
//
// The frame of the benchmark http_parse: the messages, and the loops that have a parser read them
// again and again. A parser finds everything that a server asks for: method, target, and each
// field's name and value. It keeps them until the next message, as a server does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "micro.hpp"

namespace bench {

// What the parsers of a case read. Behind the text 64 bytes are readable, as behind a lease.
class http_text {
 public:
  // Makes the text of a case.
  explicit http_text(std::string_view case_name);

  [[nodiscard]] std::string_view view() const { return {storage_.data(), bytes_}; }
  [[nodiscard]] std::size_t messages() const { return messages_; }
  // Of all messages together.
  [[nodiscard]] std::size_t fields() const { return fields_; }

 private:
  std::string storage_;
  std::size_t bytes_;
  std::size_t messages_ = 1;
  std::size_t fields_ = 0;
};

// Bytes of data in the chunked body of the case "chunked".
constexpr std::size_t http_body_bytes = 65536;

// A head that a server writes, and its parts. They are in another translation unit, so that the
// compiler does not know them where they are written.
extern const std::string_view http_response_head;
extern const std::string_view http_response_server;
extern const std::string_view http_response_date;
extern const std::string_view http_response_type;
extern const std::string_view http_response_etag;
extern const std::uint64_t http_response_length;

// Repeats `work`, which reads all messages of the text and returns a number that must be `wanted`,
// until the meter ends the run.
template <class Work>
void repeat_http(meter& m, std::size_t messages, std::size_t wanted, Work work) {
  std::size_t done = 0;
  m.start();
  while (!m.over(done)) {
    require(work() == wanted, "a message was not read, or not as it is");
    done += messages;
  }
  m.finish(done);
}

// Whole messages: `Parser::parse(text)` returns the number of their fields.
template <class Parser>
void parse_whole(meter& m) {
  const http_text text(m.options().case_name);
  Parser parser;
  repeat_http(m, text.messages(), text.fields(), [&] { return parser.parse(text.view()); });
}

// One message that arrives byte by byte: `Parser::parse_bytes(text)`.
template <class Parser>
void parse_bytes(meter& m) {
  const http_text text(m.options().case_name);
  Parser parser;
  repeat_http(m, 1, text.fields(), [&] { return parser.parse_bytes(text.view()); });
}

// A message with a chunked body: `Parser::parse_body(text)` returns the bytes of its data.
template <class Parser>
void parse_body(meter& m) {
  const http_text text(m.options().case_name);
  Parser parser;
  repeat_http(m, 1, http_body_bytes, [&] { return parser.parse_body(text.view()); });
}

}  // namespace bench
