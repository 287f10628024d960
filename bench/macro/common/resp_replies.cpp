// SPDX-License-Identifier: BSL-1.0
//
// The replies of each case, such as servers send them.
#include "resp_replies.hpp"

namespace bench {
namespace {

constexpr std::size_t pipeline = 64;
constexpr std::size_t row = 100;

}  // namespace

resp_replies::resp_replies(std::string_view name) {
  const auto times = [](std::size_t count, auto add) {
    for (std::size_t i = 0; i < count; ++i) add();
  };
  const std::string value(16, 'v');
  if (name == "ok") {
    times(count_ = pipeline, [&] { simple_string("OK"); });
  } else if (name == "integers") {
    count_ = 1;
    aggregate('*', row, row);
    std::uint64_t state = 1;
    times(row, [&] {
      state = state * 6364136223846793005U + 1442695040888963407U;
      integer(static_cast<std::int64_t>(state >> (16 + state % 40)) * (state % 8 == 0 ? -1 : 1));
    });
  } else if (name == "get_16") {
    times(count_ = pipeline, [&] { bulk(value); });
  } else if (name == "mget_16") {
    count_ = 1;
    aggregate('*', row, row);
    times(row, [&] { bulk(value); });
  } else if (name == "stream") {
    count_ = 1;
    add_stream();
  } else if (name == "map") {
    count_ = 1;
    add_table();
  } else if (name == "scalars") {
    count_ = 1;
    add_scalars();
  } else if (name == "bulk_1k") {
    times(count_ = 16, [&] { bulk(std::string(1024, 'k')); });
  } else if (name == "bulk_16k") {
    times(count_ = 4, [&] { bulk(std::string(16'384, 'k')); });
  } else {
    require(false, "an unknown case");
  }
}

void resp_replies::simple_string(std::string_view text) {
  bytes_.append("+").append(text).append("\r\n");
  expected_.text(text.data(), text.size());
}

void resp_replies::bulk(std::string_view text) {
  bytes_.append("$").append(std::to_string(text.size())).append("\r\n").append(text);
  bytes_.append("\r\n");
  expected_.text(text.data(), text.size());
}

void resp_replies::integer(std::int64_t value) {
  bytes_.append(":").append(std::to_string(value)).append("\r\n");
  expected_.integer(value);
}

void resp_replies::aggregate(char sign, std::size_t elements, std::size_t announced) {
  bytes_.append(1, sign).append(std::to_string(announced)).append("\r\n");
  expected_.aggregate(elements);
}

// The answer to XRANGE: entries with an id and two fields.
void resp_replies::add_stream() {
  constexpr std::size_t entries = 25;
  aggregate('*', entries, entries);
  for (std::size_t i = 0; i < entries; ++i) {
    aggregate('*', 2, 2);
    bulk("1526919030474-" + std::to_string(i));
    aggregate('*', 4, 4);
    bulk("sensor");
    bulk(std::to_string(1000 + i));
    bulk("temperature");
    bulk("21.5");
  }
}

// The answer to HGETALL.
void resp_replies::add_table() {
  constexpr std::size_t fields = 50;
  aggregate('%', 2 * fields, fields);
  for (std::size_t i = 0; i < fields; ++i) {
    bulk("field:" + std::to_string(i));
    bulk(std::to_string(i * i * 31));
  }
}

// The small types that only RESP3 has, in a set.
void resp_replies::add_scalars() {
  constexpr std::size_t groups = 20;
  aggregate('~', groups * 5, groups * 5);
  for (std::size_t i = 0; i < groups; ++i) {
    bytes_ += "#t\r\n";
    expected_.integer(1);
    bytes_ += "_\r\n";
    expected_.null();
    bytes_.append(",").append(std::to_string(i)).append(".5\r\n");
    expected_.real(static_cast<double>(i) + 0.5);
    integer(static_cast<std::int64_t>(i));
    simple_string("string");
  }
}

}  // namespace bench
