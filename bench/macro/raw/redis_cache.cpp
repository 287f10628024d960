// SPDX-License-Identifier: BSL-1.0
//
// A lower bound of a cache's hit: a std::unordered_map that nothing empties, without age, order of
// use or type of the reply.
#include <charconv>
#include <cstring>
#include <unordered_map>

#include "../common/redis_hits.hpp"

namespace {

template <class Use>
void look_up(bench::meter& meter, bench::redis_hits hits, Use use) {
  std::unordered_map<std::string, std::string> held;
  for (std::size_t i = 0; i < hits.keys().size(); ++i) held[hits.keys()[i]] = hits.values()[i];
  meter.start();
  while (!meter.over(hits.taken())) {
    const auto found = held.find(hits.next());
    bench::require(found != held.end(), "a key is missing");
    use(found->second, hits);
  }
  meter.finish(hits.taken());
}

template <std::size_t Keys>
void read_number(bench::meter& meter) {
  look_up(meter, {Keys, true}, [](const std::string& value, bench::redis_hits& hits) {
    long number = 0;
    std::from_chars(value.data(), value.data() + value.size(), number);
    hits.take(number);
  });
}

void read_string(bench::meter& meter) {
  look_up(meter, {bench::redis_hits::few, false},
          [](const std::string& value, bench::redis_hits& hits) {
            const std::string copy = value;
            hits.take(copy);
          });
}

void read_buffer(bench::meter& meter) {
  look_up(meter, {bench::redis_hits::few, false},
          [](const std::string& value, bench::redis_hits& hits) {
            char room[bench::redis_hits::value_bytes];
            std::memcpy(room, value.data(), value.size());
            hits.take(std::string_view(room, value.size()));
          });
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "redis_cache",
                          {{"long", read_number<bench::redis_hits::few>},
                           {"long_10k", read_number<bench::redis_hits::many>},
                           {"string", read_string},
                           {"buffer", read_buffer}});
}
