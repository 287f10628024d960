// SPDX-License-Identifier: BSL-1.0
//
// Replies with the parser of Boost.Redis, which returns node after node.
#include <boost/redis/impl/error.ipp>
#include <boost/redis/resp3/impl/parser.ipp>
#include <boost/redis/resp3/impl/type.ipp>
#include <boost/redis/resp3/parser.hpp>
#include <boost/system/error_code.hpp>

#include <charconv>
#include <cstdlib>

#include "../common/resp_replies.hpp"

namespace {

namespace resp3 = boost::redis::resp3;

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

double real(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Its nodes have texts, so numbers are read here, as the adapters of the library do.
template <class Node>
void add(const Node& node, bench::tally& seen) {
  switch (node.data_type) {
    case resp3::type::null:
      return seen.null();
    case resp3::type::number:
      return seen.integer(number(node.value));
    case resp3::type::boolean:
      return seen.integer(node.value == "t" ? 1 : 0);
    case resp3::type::doublean:
      return seen.real(real(node.value));
    case resp3::type::array:
    case resp3::type::set:
      return seen.aggregate(node.aggregate_size);
    case resp3::type::map:
      return seen.aggregate(node.aggregate_size * 2);
    default:
      return seen.text(node.value.data(), node.value.size());
  }
}

class parser {
 public:
  void parse(std::string_view bytes, std::size_t replies, bench::tally& seen) {
    for (; replies != 0; --replies) {
      parser_.reset();
      while (!parser_.done()) {
        boost::system::error_code ec;
        const auto node = parser_.consume(bytes, ec);
        bench::require(!ec && node.has_value(), "Boost.Redis has refused a reply");
        add(*node, seen);
      }
      bytes.remove_prefix(parser_.get_consumed());
    }
  }

 private:
  resp3::parser parser_;
};

}  // namespace

int main(int argc, char** argv) { return bench::run_resp<parser>(argc, argv); }
