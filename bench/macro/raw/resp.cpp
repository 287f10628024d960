// SPDX-License-Identifier: BSL-1.0
//
// A lower bound: replies that are known to be good and whole. Lines are searched with memchr, texts
// skipped, and nothing is checked or kept.
#include <cstdlib>
#include <cstring>

#include "../common/resp_replies.hpp"

namespace {

class parser {
 public:
  void parse(std::string_view bytes, std::size_t, bench::tally& seen) {
    const char* at = bytes.data();
    const char* const end = at + bytes.size();
    while (at != end) {
      const char sign = *at++;
      const char* const line = at;
      at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at))) + 1;
      switch (sign) {
        case '$': {
          const auto size = static_cast<std::size_t>(number(line));
          seen.text(at, size);
          at += size + 2;
          break;
        }
        case '+':
          seen.text(line, static_cast<std::size_t>(at - line) - 2);
          break;
        case ':':
          seen.integer(number(line));
          break;
        case '#':
          seen.integer(*line == 't' ? 1 : 0);
          break;
        case ',':
          seen.real(std::strtod(line, nullptr));
          break;
        case '_':
          seen.null();
          break;
        default:
          seen.aggregate(static_cast<std::size_t>(number(line) * (sign == '%' ? 2 : 1)));
      }
    }
  }

 private:
  static std::int64_t number(const char* at) {
    const bool is_negative = *at == '-';
    at += is_negative ? 1 : 0;
    std::int64_t value = 0;
    for (; *at != '\r'; ++at) value = value * 10 + (*at - '0');
    return is_negative ? -value : value;
  }
};

}  // namespace

int main(int argc, char** argv) { return bench::run_resp<parser>(argc, argv); }
