// SPDX-License-Identifier: BSL-1.0
//
// The frame of the benchmark resp: the bytes of replies, and the loop that has a parser read them
// again and again. A parser looks at the value of every element; `tally` is what it has seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "measure.hpp"
#include "micro.hpp"

namespace bench {

// The values of all elements, added up: the same for every parser.
class tally {
 public:
  void text(const char* at, std::size_t bytes) {
    sum_ += bytes;
    if (bytes != 0) sum_ += 256U * static_cast<unsigned char>(at[bytes - 1]);
    ++elements_;
  }
  void integer(std::int64_t value) {
    sum_ += static_cast<std::uint64_t>(value);
    ++elements_;
  }
  void real(double value) { integer(static_cast<std::int64_t>(value * 16)); }
  // The elements of an array; of a map, keys and values.
  void aggregate(std::size_t elements) { integer(static_cast<std::int64_t>(elements)); }
  void null() { ++elements_; }

  [[nodiscard]] std::uint64_t elements() const { return elements_; }
  friend bool operator==(const tally&, const tally&) = default;

 private:
  std::uint64_t sum_ = 0;
  std::uint64_t elements_ = 0;
};

// The replies of a case.
class resp_replies {
 public:
  explicit resp_replies(std::string_view case_name);

  [[nodiscard]] std::string_view view() const { return bytes_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] const tally& expected() const { return expected_; }

 private:
  void simple_string(std::string_view text);
  void bulk(std::string_view text);
  void integer(std::int64_t value);
  void aggregate(char sign, std::size_t elements, std::size_t announced);
  void add_stream();
  void add_table();
  void add_scalars();

  std::string bytes_;
  std::size_t count_ = 0;
  tally expected_;
};

// Has `Parser::parse(bytes, replies, tally)` read all replies until the meter ends the run. An
// operation is an element.
template <class Parser>
void read_replies(meter& m) {
  const resp_replies replies(m.options().case_name);
  Parser parser;
  std::uint64_t done = 0;
  m.start();
  while (!m.over(done)) {
    tally seen;
    parser.parse(replies.view(), replies.count(), seen);
    require(seen == replies.expected(), "an element was not read, or not as it is");
    done += seen.elements();
  }
  m.finish(done);
}

// Runs the main program of a peer that reads every case.
template <class Parser>
int run_resp(int argc, char** argv) {
  constexpr auto run = read_replies<Parser>;
  return run_micro(argc, argv, "resp",
                   {{"ok", run},
                    {"integers", run},
                    {"get_16", run},
                    {"mget_16", run},
                    {"stream", run},
                    {"map", run},
                    {"scalars", run},
                    {"bulk_1k", run},
                    {"bulk_16k", run}});
}

}  // namespace bench
