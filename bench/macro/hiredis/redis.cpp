// SPDX-License-Identifier: BSL-1.0
//
// Commands for Redis with hiredis by hand: its blocking functions, which append as many commands as
// there are callers and take their replies. This is its fastest form: without an event loop and
// without a callback for each reply.
#include <hiredis.h>

#include "../common/redis_calls.hpp"

namespace {

redisContext* connect(const bench::redis_calls& calls) {
  redisContext* const made =
      calls.is_local() ? redisConnectUnix(calls.options().path.c_str())
                       : redisConnect("127.0.0.1", static_cast<int>(calls.options().port));
  bench::require(made != nullptr && made->err == 0, "hiredis cannot connect");
  return made;
}

bool take_reply(redisContext* context, bench::redis_calls& calls) {
  void* got = nullptr;
  if (redisGetReply(context, &got) != REDIS_OK) bench::fail(context->errstr);
  auto* const reply = static_cast<redisReply*>(got);
  bench::require(reply->type == REDIS_REPLY_STRING, "a reply is no text");
  const bool more = calls.take({reply->str, reply->len});
  freeReplyObject(reply);
  return more;
}

void run(bench::redis_calls& calls) {
  redisContext* const context = connect(calls);
  const char* words[] = {"GET", calls.key.data()};
  const std::size_t sizes[] = {3, calls.key.size()};
  calls.start();
  for (bool more = true; more;) {
    for (std::size_t i = 0; i < calls.callers(); ++i)
      bench::require(redisAppendCommandArgv(context, 2, words, sizes) == REDIS_OK,
                     "hiredis has refused a command");
    for (std::size_t i = 0; i < calls.callers(); ++i) more = take_reply(context, calls);
  }
  calls.finish();
  redisFree(context);
}

}  // namespace

int main(int argc, char** argv) { return bench::run_redis<run>(argc, argv); }
