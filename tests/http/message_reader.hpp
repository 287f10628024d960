// SPDX-License-Identifier: BSL-1.0
// Reads messages as a connection does, and keeps a line for each: to compare an input that came
// whole with the same input in pieces.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <beck/http/body_decoder.hpp>
#include <beck/http/parser.hpp>

namespace beck::http::test {

/// Reads from a stream that is given piece by piece. The input is kept in a buffer of exactly its
/// size, so that AddressSanitizer sees every byte that is read behind it.
template <class Head, class Parser>
class message_reader {
 public:
  explicit message_reader(const head_limits& heads = {}, const body_limits& bodies = {})
      : parser_(heads), bodies_(bodies) {}

  /// Uses parse_padded(), with padding that would be a field if it were read as text.
  void pad() { padded_ = true; }

  /// Reads the next piece. Returns false once a message was refused, or nothing may follow it.
  bool read(std::string_view piece) {
    waiting_.append(piece);
    while (is_reading() && !waiting_.empty() && (in_body_ ? body() : head())) continue;
    return is_reading();
  }

  /// Ends the input, as the end of the connection does.
  void end() {
    if (in_body_ && decoder_.end_of_input() == parse_status::done) finish();
  }

  /// Returns one line for each message: its head, framing and body.
  const std::vector<std::string>& messages() const { return messages_; }
  refusal reason() const { return reason_; }
  /// Returns whether a message has begun that is not whole.
  bool is_open() const { return is_reading() && (in_body_ || !waiting_.empty()); }

  /// Returns all lines in one text.
  std::string transcript() const {
    std::string text;
    for (const std::string& each : messages_) text += each + '\n';
    if (reason_ != refusal::none)
      return text + "refused: " + std::string(beck::http::text_of(reason_));
    if (is_open()) text += "open: " + line_ + body_;
    return text;
  }

 private:
  parse_status parse(std::string_view input) {
    if constexpr (std::is_same_v<Head, request_head>) {
      return padded_ ? parser_.parse_padded(input, head_) : parser_.parse(input, head_);
    } else {
      return padded_ ? parser_.parse_padded(input, method::get, head_)
                     : parser_.parse(input, method::get, head_);
    }
  }

  bool head() {
    std::vector<char> copy(waiting_.begin(), waiting_.end());
    if (padded_)
      for (std::size_t i = 0; i < request_parser::padding; ++i) copy.push_back("A: b\r\n"[i % 6]);
    const parse_status status = parse({copy.data(), waiting_.size()});
    if (status == parse_status::refused) reason_ = parser_.reason();
    if (status != parse_status::done) return false;
    describe();
    decoder_ = body_decoder(head_, bodies_);
    waiting_.erase(0, head_.bytes());
    parser_.reset();
    in_body_ = true;
    return body();
  }

  bool body() {
    for (;;) {
      const std::vector<char> copy(waiting_.begin(), waiting_.end());
      const body_part part = decoder_.decode({copy.data(), copy.size()});
      if (part.status == parse_status::refused) {
        reason_ = decoder_.reason();
        return false;
      }
      body_.append(part.data);
      waiting_.erase(0, part.consumed);
      if (part.status == parse_status::done) {
        finish();
        return true;
      }
      if (part.consumed == 0) return false;
    }
  }

  void describe() {
    if constexpr (std::is_same_v<Head, request_head>) {
      line_ = std::string(head_.method_text()) + ' ' + std::string(head_.target());
      if (head_.expects_continue()) line_ += " expects";
    } else {
      line_ =
          std::to_string(beck::http::number_of(head_.status())) + ' ' + std::string(head_.reason());
    }
    line_ += " 1." + std::to_string(head_.minor_version());
    for (const field_view each : head_)
      line_ += '|' + std::string(each.name) + '=' + std::string(each.value);
    constexpr const char* framings[] = {" none", " length", " chunked", " until close"};
    line_ += framings[static_cast<unsigned>(head_.framing())];
    line_ += head_.keeps_alive() ? " keep: " : " close: ";
  }

  bool is_reading() const { return reason_ == refusal::none && !is_last_; }

  void finish() {
    messages_.push_back(line_ + body_);
    is_last_ = !head_.keeps_alive();
    line_.clear();
    body_.clear();
    in_body_ = false;
  }

  Parser parser_;
  body_limits bodies_;
  Head head_;
  body_decoder decoder_;
  std::string waiting_;
  std::string line_;
  std::string body_;
  std::vector<std::string> messages_;
  refusal reason_ = refusal::none;
  bool in_body_ = false;
  bool padded_ = false;
  bool is_last_ = false;
};

using request_reader = message_reader<request_head, request_parser>;
using response_reader = message_reader<response_head, response_parser>;

/// Reads a whole input.
template <class Reader>
Reader read_all(std::string_view input, bool padded = false) {
  Reader reader;
  if (padded) reader.pad();
  reader.read(input);
  reader.end();
  return reader;
}

/// Reads an input in two pieces, split at `at`.
template <class Reader>
Reader read_split(std::string_view input, std::size_t at, bool padded = false) {
  Reader reader;
  if (padded) reader.pad();
  if (reader.read(input.substr(0, at))) reader.read(input.substr(at));
  reader.end();
  return reader;
}

/// Reads an input byte by byte.
template <class Reader>
Reader read_bytes(std::string_view input) {
  Reader reader;
  for (std::size_t i = 0; i < input.size() && reader.read(input.substr(i, 1)); ++i) continue;
  reader.end();
  return reader;
}

}  // namespace beck::http::test
