// SPDX-License-Identifier: BSL-1.0
//
// Asks a memcached. `load` stores and reads back COUNT values at once over one connection.
//   memcached_client HOST PORT get KEY
//   memcached_client HOST PORT set KEY VALUE
//   memcached_client HOST PORT delete KEY
//   memcached_client HOST PORT load COUNT
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <beck/coro/task_group.hpp>
#include <beck/io/io_context.hpp>

#include "memcached.hpp"
#include "number.hpp"

namespace {

constexpr long calls_max = 1'000'000;

struct tally {
  long right = 0;
  std::string failure;  // of the first call that failed
};

beck::task<> store_and_read(memcached::client& client, long number, tally& all) {
  const std::string key = "load:" + std::to_string(number);
  const std::string value(static_cast<std::size_t>(number % 3000), 'x');
  auto stored = co_await client.set(key, value);
  memcached::reply read;
  if (!stored.ec) read = co_await client.get(key);
  const beck::error_code ec = stored.ec ? stored.ec : read.ec;
  if (!ec && read.is_done && read.text == value) ++all.right;
  if (ec && all.failure.empty()) all.failure = ec.message();
}

beck::task<int> load(memcached::client& client, long count) {
  tally all;
  auto spawn_all = [&](beck::task_group& calls) -> beck::task<> {
    for (long i = 0; i < count; ++i) calls.spawn(store_and_read(client, i, all));
    co_return;
  };
  co_await beck::task_group::run(spawn_all);
  std::printf("%ld of %ld values came back\n", all.right, count);
  if (!all.failure.empty()) std::fprintf(stderr, "memcached_client: %s\n", all.failure.c_str());
  co_return all.right == count ? 0 : 1;
}

beck::task<memcached::reply> ask(memcached::client& client, std::vector<std::string> words) {
  const std::string_view verb = words[0];
  if (verb == "get") co_return co_await client.get(words[1]);
  if (verb == "set") co_return co_await client.set(words[1], words[2]);
  co_return co_await client.erase(words[1]);
}

beck::task<int> talk(beck::any_io_executor on, std::vector<std::string> words) {
  const auto port = static_cast<std::uint16_t>(example::number(words[1].c_str()));
  auto made = co_await memcached::client::connect(on, words[0], port, memcached::options());
  if (made.error()) {
    std::fprintf(stderr, "memcached_client: %s:%u: %s\n", words[0].c_str(), unsigned{port},
                 made.error().message().c_str());
    co_return 1;
  }
  memcached::client client = std::move(made).value();
  words.erase(words.begin(), words.begin() + 2);
  if (words[0] == "load") {
    const long count = example::number(words[1].c_str());
    if (count < 0 || count > calls_max) throw std::invalid_argument("at most 1,000,000 values");
    co_return co_await load(client, count);
  }
  const bool is_read = words[0] == "get";
  const memcached::reply got = co_await ask(client, std::move(words));
  if (got.ec) {
    std::fprintf(stderr, "memcached_client: %s%s%s\n", got.ec.message().c_str(),
                 got.text.empty() ? "" : ": ", got.text.c_str());
    co_return 1;
  }
  if (!got.is_done) {
    std::fprintf(stderr, "memcached_client: no such key\n");
    co_return 1;
  }
  if (is_read) std::printf("%s\n", got.text.c_str());
  co_return 0;
}

bool is_command(const std::vector<std::string>& words) {
  if (words.size() < 4) return false;
  const std::string_view verb = words[2];
  if (verb == "set") return words.size() == 5;
  return words.size() == 4 && (verb == "get" || verb == "delete" || verb == "load");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!is_command(words)) {
    std::fprintf(stderr,
                 "usage: memcached_client HOST PORT get KEY | set KEY VALUE | delete KEY | load "
                 "COUNT\n");
    return 2;
  }
  try {
    beck::io_context context;
    int status = 1;
    std::exception_ptr failure;
    beck::co_spawn(context, talk(context.get_executor(), words),
                   [&](std::exception_ptr e, int result) {
                     failure = e;
                     status = result;
                   });
    context.run();
    if (failure) std::rethrow_exception(failure);
    return status;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "memcached_client: %s\n", e.what());
    return 1;
  }
}
