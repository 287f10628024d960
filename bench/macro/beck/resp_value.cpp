// SPDX-License-Identifier: BSL-1.0
//
// Replies with beck::redis: each as a value, whose elements are then visited.
#include <beck/redis/value.hpp>

#include "../common/resp_replies.hpp"

namespace {

namespace redis = beck::redis;

class parser {
 public:
  void parse(std::string_view bytes, std::size_t, bench::tally& seen) {
    for (;;) {
      const redis::parsed found = parser_.parse(bytes, tokens_, room);
      for (std::size_t i = 0; i < found.tokens;) {
        i += value_.append(tokens_ + i, found.tokens - i);
        if (!value_.is_complete()) continue;
        add(value_.root(), seen);
        value_.clear();
      }
      bytes.remove_prefix(found.consumed);
      if (found.outcome != redis::parse_outcome::full) return;
    }
  }

 private:
  static constexpr std::size_t room = 64;

  static void add(const redis::value_item& item, bench::tally& seen) {
    switch (item.type()) {
      case redis::data_type::null:
        return seen.null();
      case redis::data_type::integer:
      case redis::data_type::boolean:
        return seen.integer(item.integer());
      case redis::data_type::double_number:
        return seen.real(item.real());
      case redis::data_type::array:
      case redis::data_type::set:
      case redis::data_type::map:
        seen.aggregate(item.size());
        for (const redis::value_item each : item) add(each, seen);
        return;
      default:
        return seen.text(item.text().data(), item.text().size());
    }
  }

  redis::reply_parser parser_;
  redis::value value_;
  redis::token tokens_[room];
};

}  // namespace

int main(int argc, char** argv) { return bench::run_resp<parser>(argc, argv); }
