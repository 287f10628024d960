// SPDX-License-Identifier: BSL-1.0
//
// Replies with hiredis' reader, whose functions look at each element and create nothing.
#include <hiredis.h>

#include "../common/resp_replies.hpp"

namespace {

bench::tally* seen_now = nullptr;

// Returns anything but null, which hiredis takes for an object.
void* element(const redisReadTask* task) { return const_cast<redisReadTask*>(task); }

redisReplyObjectFunctions functions{[](const redisReadTask* task, char* text, size_t bytes) {
                                      seen_now->text(text, bytes);
                                      return element(task);
                                    },
                                    [](const redisReadTask* task, size_t elements) {
                                      seen_now->aggregate(elements);
                                      return element(task);
                                    },
                                    [](const redisReadTask* task, long long value) {
                                      seen_now->integer(value);
                                      return element(task);
                                    },
                                    [](const redisReadTask* task, double value, char*, size_t) {
                                      seen_now->real(value);
                                      return element(task);
                                    },
                                    [](const redisReadTask* task) {
                                      seen_now->null();
                                      return element(task);
                                    },
                                    [](const redisReadTask* task, int value) {
                                      seen_now->integer(value);
                                      return element(task);
                                    },
                                    [](void*) {}};

class parser {
 public:
  parser() : reader_(redisReaderCreateWithFunctions(&functions)) {}
  ~parser() { redisReaderFree(reader_); }
  parser(const parser&) = delete;
  parser& operator=(const parser&) = delete;

  void parse(std::string_view bytes, std::size_t replies, bench::tally& seen) {
    seen_now = &seen;
    redisReaderFeed(reader_, bytes.data(), bytes.size());
    for (; replies != 0; --replies) {
      void* reply = nullptr;
      const bool is_read = redisReaderGetReply(reader_, &reply) == REDIS_OK && reply != nullptr;
      bench::require(is_read, "hiredis has refused a reply");
    }
  }

 private:
  redisReader* reader_;
};

}  // namespace

int main(int argc, char** argv) { return bench::run_resp<parser>(argc, argv); }
