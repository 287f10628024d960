// SPDX-License-Identifier: BSL-1.0
// Files of vectors: a line each, with columns between tabs. Lines that begin with # are comments.
// In inputs \r, \n, \t, \\ and \xHH are bytes, and \*N;c is the character c, N times.
#pragma once

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace beck::test {

/// Returns the bytes that an input stands for.
inline std::string unescaped(std::string_view text) {
  std::string bytes;
  const auto one = [&text]() -> char {
    const char c = text[0];
    text.remove_prefix(1);
    if (c != '\\') return c;
    const char kind = text.at(0);
    text.remove_prefix(1);
    if (kind == 'r') return '\r';
    if (kind == 'n') return '\n';
    if (kind == 't') return '\t';
    if (kind == '\\') return '\\';
    if (kind != 'x') throw std::runtime_error("an unknown escape in a vector");
    const int value = std::stoi(std::string(text.substr(0, 2)), nullptr, 16);
    text.remove_prefix(2);
    return static_cast<char>(value);
  };
  while (!text.empty()) {
    if (text.substr(0, 2) == "\\*") {
      const std::size_t end = text.find(';');
      const auto count = static_cast<std::size_t>(std::stoul(std::string(text.substr(2, end - 2))));
      text.remove_prefix(end + 1);
      bytes.append(count, one());
    } else {
      bytes += one();
    }
  }
  return bytes;
}

/// Returns a text with its control characters and the bytes above 0x7e as \xHH.
inline std::string escaped(std::string_view text) {
  std::string made;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      made += c;
    } else {
      constexpr char digits[] = "0123456789abcdef";
      made.append("\\x").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    }
  }
  return made;
}

/// Returns the columns of all lines of the file at `path`.
inline std::vector<std::vector<std::string>> read_vectors(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> columns;
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t tab = std::min(line.find('\t', at), line.size());
      columns.push_back(line.substr(at, tab - at));
      at = tab + 1;
    }
    rows.push_back(columns);
  }
  return rows;
}

}  // namespace beck::test
