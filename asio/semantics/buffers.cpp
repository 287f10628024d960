// SPDX-License-Identifier: BSL-1.0
// Buffers, growing buffers and streambuf.
#include "rows.hpp"

#include <istream>

namespace semantics::buffers {

std::string text_of(asio::const_buffer data) {
  return {static_cast<const char*>(data.data()), data.size()};
}

ROW("buffer: sizes of what makes one") {
  char array[7];
  std::array<int, 3> numbers{};
  std::vector<short> shorts(5);
  const std::string text = "text";
  return line(asio::buffer(array).size(), asio::buffer(numbers).size(), asio::buffer(shorts).size(),
              asio::buffer(text).size(), asio::buffer("text").size(),
              asio::buffer(std::string_view("view")).size());
}
ROW("buffer: a bound above the size and below it") {
  char array[7];
  return line(asio::buffer(array, 100).size(), asio::buffer(array, 3).size(),
              asio::buffer(asio::buffer(array), 2).size());
}
ROW("buffer: an empty string") {
  std::string none;
  std::vector<char> nothing;
  return line(asio::buffer(none).size(), asio::buffer(nothing).size(),
              asio::buffer(nothing).data() == nullptr);
}
ROW("buffer: plus a size") {
  asio::const_buffer data("hello", 5);
  asio::const_buffer moved = data;
  moved += 2;
  return line(text_of(data + 2), text_of(1 + data), text_of(moved), (data + 9).size());
}
ROW("buffer: a default one") {
  return line(asio::const_buffer().size(), asio::const_buffer().data() == nullptr);
}
ROW("buffer: size of a sequence") {
  std::array<asio::const_buffer, 3> parts = {asio::buffer("ab", 2), asio::buffer("", 0),
                                             asio::buffer("cde", 3)};
  return line(asio::buffer_size(parts), asio::buffer_size(asio::const_buffer("x", 1)));
}
ROW("buffer_copy: to the smaller one") {
  char target[3];
  const std::size_t n = asio::buffer_copy(asio::buffer(target), asio::buffer("hello", 5));
  return line(n, std::string(target, n));
}
ROW("buffer_copy: between sequences, with a bound") {
  char a[2], b[5];
  std::array<asio::mutable_buffer, 2> to = {asio::buffer(a), asio::buffer(b)};
  std::array<asio::const_buffer, 2> from = {asio::buffer("hel", 3), asio::buffer("lo!", 3)};
  const std::size_t n = asio::buffer_copy(to, from, 5);
  return line(n, std::string(a, 2) + "|" + std::string(b, 3));
}
ROW("buffer: begin and end of a sequence") {
  const asio::const_buffer one("x", 1);
  return line(asio::buffer_sequence_end(one) - asio::buffer_sequence_begin(one));
}
ROW("buffer: traits of sequences") {
  return line(asio::is_const_buffer_sequence<std::vector<asio::const_buffer>>::value,
              asio::is_mutable_buffer_sequence<std::vector<asio::const_buffer>>::value,
              asio::is_const_buffer_sequence<asio::mutable_buffer>::value,
              asio::is_const_buffer_sequence<int>::value);
}
ROW("buffers_iterator: text of a sequence") {
  std::vector<asio::const_buffer> parts = {asio::buffer("ab", 2), asio::buffer("", 0),
                                           asio::buffer("cde", 3)};
  const auto begin = asio::buffers_begin(parts);
  const auto end = asio::buffers_end(parts);
  return line(std::string(begin, end), end - begin, begin[3], *(end - 2));
}

ROW("dynamic_buffer: commit and consume") {
  std::string text = "start";
  auto data = asio::dynamic_buffer(text);
  data.prepare(10);
  const std::size_t prepared = text.size();
  data.commit(3);
  const std::size_t committed = text.size();
  data.consume(4);
  return line(prepared, committed, data.size(), text.size(), text[0]);
}
ROW("dynamic_buffer: grow, shrink and data") {
  std::string text = "hello";
  auto data = asio::dynamic_buffer(text);
  data.grow(3);
  const std::size_t grown = data.size();
  data.shrink(4);
  return line(grown, text, data.data(1, 2).size(), data.data(3, 100).size());
}
ROW("dynamic_buffer: grow beyond the maximum") {
  std::string text = "hello";
  auto data = asio::dynamic_buffer(text, 8);
  const std::string thrown = thrown_by([&] { data.grow(4); });
  return line(data.max_size(), thrown, text.size());
}
ROW("dynamic_buffer: prepare beyond the maximum") {
  std::string text = "hello";
  auto data = asio::dynamic_buffer(text, 8);
  const std::string thrown = thrown_by([&] { data.prepare(4); });
  return line(thrown, text.size());
}
ROW("dynamic_buffer: shrink and consume more than there is") {
  std::string text = "hello";
  auto data = asio::dynamic_buffer(text);
  data.consume(100);
  const std::size_t consumed = text.size();
  data.shrink(100);
  return line(consumed, text.size());
}
ROW("dynamic_buffer: of a vector that is larger than the maximum") {
  std::vector<char> bytes(10, 'x');
  auto data = asio::dynamic_buffer(bytes, 4);
  return line(data.size(), data.max_size(), bytes.size());
}

ROW("streambuf: prepare, commit, consume") {
  asio::streambuf data;
  asio::buffer_copy(data.prepare(10), asio::buffer("hello", 5));
  const std::size_t before = data.size();
  data.commit(5);
  const std::size_t committed = data.size();
  data.consume(2);
  return line(before, committed, data.size(),
              std::string(asio::buffers_begin(data.data()), asio::buffers_end(data.data())));
}
ROW("streambuf: commit and consume more than there is") {
  asio::streambuf data;
  data.prepare(4);
  data.commit(100);
  const std::size_t committed = data.size();
  data.consume(100);
  return line(committed, data.size());
}
ROW("streambuf: commit without prepare") {
  asio::streambuf data;
  data.commit(5);
  return line(data.size());
}
ROW("streambuf: prepare beyond the maximum") {
  asio::streambuf data(8);
  const std::string thrown = thrown_by([&] { data.prepare(9); });
  return line(data.max_size(), thrown, data.prepare(8).size());
}
ROW("streambuf: through streams") {
  asio::streambuf data;
  std::ostream(&data) << "one two\nthree";
  std::istream in(&data);
  std::string word, rest, last;
  in >> word;
  std::getline(in, rest);
  std::getline(in, last);
  return line(word, rest, last, data.size(), in.eof());
}
ROW("streambuf: a stream beyond the maximum") {
  asio::streambuf data(4);
  std::ostream out(&data);
  out << "hello";
  return line(data.size(), out.good());
}
ROW("streambuf: output as a stream reads it") {
  asio::streambuf data;
  std::ostream(&data) << "hello";
  std::ostringstream out;
  out << &data;
  return line(out.str(), data.size());
}
ROW("streambuf: characters that are put back") {
  asio::streambuf data;
  std::ostream(&data) << "hello";
  const int first = data.sbumpc();
  const int back = data.sungetc();
  return line(char(first), char(back), data.size());
}

}  // namespace semantics::buffers
