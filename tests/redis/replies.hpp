// SPDX-License-Identifier: BSL-1.0
// Writes the tokens of a parser as text that does not depend on how the bytes arrived. Each reply
// is also built as a tree, without the code under test, and compared with its redis::value.
#pragma once

#include <beck/redis/resp3.hpp>
#include <beck/redis/value.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beck::redis::test {

/// How bytes reach a parser.
struct arrival {
  std::vector<std::size_t> cuts = {};  ///< places where a call of parse() sees no further
  parse_limits limits = {};
  protocol version = protocol::resp3;
  std::size_t room = 64;  ///< for tokens
  parse_stop stop = parse_stop::nowhere;
  bool pushes_inside = false;
};

/// Returns printable text for bytes.
inline std::string escaped(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f && c != '\\') {
      text += c;
    } else {
      char room[8];
      std::snprintf(room, sizeof room, "\\x%02x", byte);
      text += room;
    }
  }
  return text;
}

inline char sign_of(data_type type) { return "_+-:$#,(!=*~%|>."[static_cast<int>(type)]; }

inline std::string real_text(double value) {
  char room[40];
  std::snprintf(room, sizeof room, "%.17g", value);
  const std::string text = room;
  return text == "-nan" ? "nan" : text;
}

/// An element of a reply with the elements in it.
struct tree {
  data_type type = data_type::null;
  std::string text;
  std::string format;
  std::int64_t number = 0;
  double real = 0;
  std::vector<tree> elements;  // attributes among them, before the elements that they describe
};

/// Writes an element as text: its sign, its value, and its elements in parentheses.
inline std::string text_of(const tree& t) {
  std::string text;
  text += sign_of(t.type);
  if (t.type == data_type::integer || t.type == data_type::boolean)
    text += std::to_string(t.number);
  if (t.type == data_type::double_number) text += real_text(t.real);
  if (t.type == data_type::verbatim) text += escaped(t.format) + ":";
  text += escaped(t.text);
  if (!is_aggregate(t.type)) return text;
  text += "(";
  for (const tree& each : t.elements) text += text_of(each) + " ";
  return text + ")";
}

/// As above, of a value, which is visited as its users do.
inline std::string text_of(const value_item& item) {
  std::string text;
  if (item.has_attributes()) {
    value_item one = item.attributes();
    text += text_of(one) + " ";
    while (one.has_next_attribute(item)) {
      one = one.next_attribute();
      text += text_of(one) + " ";
    }
  }
  text += sign_of(item.type());
  if (item.type() == data_type::integer || item.type() == data_type::boolean)
    text += std::to_string(item.integer());
  if (item.type() == data_type::double_number) text += real_text(item.real());
  if (item.type() == data_type::verbatim) text += escaped(item.format()) + ":";
  text += escaped(item.text());
  if (!is_aggregate(item.type())) return text;
  text += "(";
  std::size_t count = 0;
  for (const value_item each : item) {
    text += text_of(each) + " ";
    ++count;
  }
  return count == item.size() ? text + ")" : "an aggregate with another size";
}

/// Builds the tree of a reply from its tokens.
class tree_builder {
 public:
  /// Returns whether the reply is whole.
  bool add(const token& next) {
    if (next.type == data_type::end) {
      path_.resize(next.depth);
      return next.is_last;
    }
    if (next.part == text_part::middle || next.part == text_part::last) {
      last_->text += next.text;
      return next.is_last;
    }
    path_.resize(std::min<std::size_t>(path_.size(), next.depth));
    std::vector<tree>& place = next.depth == 0 ? roots_ : path_.back()->elements;
    tree& made = place.emplace_back();
    made.type = next.type;
    if (next.type != data_type::double_number) made.text = next.text;
    made.number = next.number;
    if (next.type == data_type::double_number) made.real = next.real();
    if (next.type == data_type::verbatim) made.format.assign(next.format, 3);
    last_ = &made;
    if (is_aggregate(next.type)) path_.push_back(&made);
    return next.is_last;
  }
  /// Returns the text of the reply, and begins anew.
  std::string take() {
    std::string text;
    for (const tree& each : roots_)
      text += text_of(each) + (each.type == data_type::attribute ? " " : "");
    roots_.clear();
    path_.clear();
    return text;
  }

 private:
  std::vector<tree> roots_;  // attributes, and the reply
  std::vector<tree*> path_;  // aggregates that are not whole; their elements are in place
  tree* last_ = nullptr;
};

/// Takes tokens as a caller does, and writes them down.
class transcript {
 public:
  void add(const token& next) {
    if (next.part == text_part::middle || next.part == text_part::last) {
      held_ += escaped(next.text);
    } else {
      held_ = text_.empty() || text_.ends_with("/") ? "" : " ";
      if (next.in_push) held_ += '^';
      if (next.depth != 0) held_ += std::to_string(next.depth);
      held_ += sign_of(next.type);
      if (is_aggregate(next.type))
        held_ += next.number == unknown_size ? "?" : std::to_string(next.number);
      if (next.type == data_type::integer || next.type == data_type::boolean)
        held_ += std::to_string(next.number);
      if (next.type == data_type::double_number) held_ += real_text(next.real()) + "=";
      if (next.type == data_type::verbatim) held_ += escaped({next.format, 3}) + ":";
      held_ += escaped(next.text);
    }
    if (!next.ends_text()) return;
    text_ += std::exchange(held_, std::string());
    if (next.is_last) text_ += "/";
  }
  void end(const reply_parser& parser, parse_outcome outcome, bool has_rest) {
    if (outcome == parse_outcome::refused) {
      text_ += text_.empty() || text_.ends_with("/") ? "" : " ";
      text_.append("refused:").append(name_of(parser.reason())) +=
          "@" + std::to_string(parser.error_offset());
    } else if (has_rest || !parser.is_between_replies()) {
      text_ += text_.empty() || text_.ends_with("/") ? "..." : " ...";
    }
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::string held_;
};

/// Parses `input` and returns the transcript of its tokens: for each token its depth if that is
/// not 0, its sign and its value, "^" before those of a push, "/" behind each reply, "..." where
/// the input ends inside one, or "refused:" with the reason and the place.
inline std::string transcript_of(std::string_view input, const arrival& how = {}) {
  reply_parser parser(how.limits, how.version);
  parser.expect_pushes_inside(how.pushes_inside);
  transcript all;
  tree_builder trees[2];  // of a reply, and of a push inside it
  value values[2];
  std::string fault;
  std::vector<token> tokens(how.room);
  std::vector<std::size_t> ends = how.cuts;
  ends.push_back(input.size());
  std::size_t at = 0;
  parse_outcome outcome = parse_outcome::more;
  for (const std::size_t end : ends) {
    do {
      // A copy that ends where the input ends, so that a sanitizer sees reads behind it.
      const std::string_view part = input.substr(at, end - at);
      const std::unique_ptr<char[]> copy(new char[part.size()]);
      std::copy(part.begin(), part.end(), copy.get());
      const parsed found =
          parser.parse({copy.get(), part.size()}, tokens.data(), tokens.size(), how.stop);
      outcome = found.outcome;
      for (std::size_t i = 0; i < found.tokens; ++i) {
        const token& next = tokens[i];
        all.add(next);
        const int which = next.in_push ? 1 : 0;
        values[which].append(next);
        if (values[which].capacity_bytes() > 18 * (at + found.consumed) + 65'536)
          fault = "a value with more memory than has come";
        if (!trees[which].add(next)) continue;
        const std::string expected = trees[which].take();
        if (!values[which].is_complete()) fault = "a value that is not complete";
        if (text_of(values[which].root()) != expected)
          fault = "a value " + text_of(values[which].root()) + " of " + expected;
        values[which].clear();
      }
      at += found.consumed;
      if (parser.offset() != at) fault = "a wrong offset";
    } while (outcome == parse_outcome::full || outcome == parse_outcome::stopped);
    if (outcome == parse_outcome::refused) break;
  }
  if (parser.bytes_examined() > 3 * input.size() + 8) fault = "bytes are searched again";
  all.end(parser, outcome, at != input.size());
  return fault.empty() ? all.text() : fault + " in " + all.text();
}

/// Parses `input` whole, split in two at every place, byte by byte, with room for one token, and
/// with a stop behind each reply. Returns the transcript if all agree; else a text that names the
/// first difference.
inline std::string transcript_at_all_splits(std::string_view input, arrival how = {}) {
  how.cuts.clear();
  const std::string whole = transcript_of(input, how);
  std::vector<std::size_t> all;
  for (std::size_t at = 1; at < input.size(); ++at) {
    how.cuts = {at};
    const std::string split = transcript_of(input, how);
    if (split != whole) return "split at " + std::to_string(at) + ": " + split + " not " + whole;
    all.push_back(at);
  }
  how.cuts = all;
  const std::string bytes = transcript_of(input, how);
  if (bytes != whole) return "byte by byte: " + bytes + " not " + whole;
  how.cuts.clear();
  how.room = 1;
  const std::string one = transcript_of(input, how);
  if (one != whole) return "with room for a token: " + one + " not " + whole;
  how.room = 64;
  how.stop = parse_stop::behind_reply;
  const std::string stopping = transcript_of(input, how);
  return stopping == whole ? whole : "stopping: " + stopping + " not " + whole;
}

/// Returns `text`, `count` times.
inline std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (; count != 0; --count) all += text;
  return all;
}

/// Returns a bulk string.
inline std::string bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

/// Returns the part of a transcript behind its last space, or all.
inline std::string end_of(const std::string& transcript) {
  return transcript.substr(transcript.find_last_of(" /", transcript.size() - 2) + 1);
}

/// Returns limits of which one is `value`.
inline parse_limits limits_with(std::uint32_t parse_limits::* which, std::uint32_t value) {
  parse_limits limits;
  limits.*which = value;
  return limits;
}

}  // namespace beck::redis::test
