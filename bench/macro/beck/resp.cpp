// SPDX-License-Identifier: BSL-1.0
//
// Replies with beck::redis: the tokens of the parser.
#include <beck/redis/resp3.hpp>

#include "../common/resp_replies.hpp"

namespace {

namespace redis = beck::redis;

class parser {
 public:
  void parse(std::string_view bytes, std::size_t, bench::tally& seen) {
    for (;;) {
      const redis::parsed found = parser_.parse(bytes, tokens_, room);
      for (std::size_t i = 0; i < found.tokens; ++i) add(tokens_[i], seen);
      bytes.remove_prefix(found.consumed);
      if (found.outcome != redis::parse_outcome::full) return;
    }
  }

 private:
  static constexpr std::size_t room = 64;

  static void add(const redis::token& next, bench::tally& seen) {
    switch (next.type) {
      case redis::data_type::null:
        return seen.null();
      case redis::data_type::integer:
      case redis::data_type::boolean:
        return seen.integer(next.number);
      case redis::data_type::double_number:
        return seen.real(next.real());
      case redis::data_type::array:
      case redis::data_type::set:
      case redis::data_type::map:
        return seen.aggregate(static_cast<std::size_t>(next.number));
      default:
        return seen.text(next.text.data(), next.text.size());
    }
  }

  redis::reply_parser parser_;
  redis::token tokens_[room];
};

}  // namespace

int main(int argc, char** argv) { return bench::run_resp<parser>(argc, argv); }
