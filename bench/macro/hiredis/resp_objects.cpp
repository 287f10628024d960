// SPDX-License-Identifier: BSL-1.0
//
// Replies with hiredis' reader and its own objects, which are then visited and freed.
#include <hiredis.h>

#include "../common/resp_replies.hpp"

namespace {

void add(const redisReply& item, bench::tally& seen) {
  switch (item.type) {
    case REDIS_REPLY_NIL:
      return seen.null();
    case REDIS_REPLY_INTEGER:
    case REDIS_REPLY_BOOL:
      return seen.integer(item.integer);
    case REDIS_REPLY_DOUBLE:
      return seen.real(item.dval);
    case REDIS_REPLY_ARRAY:
    case REDIS_REPLY_SET:
    case REDIS_REPLY_MAP:
      seen.aggregate(item.elements);
      for (std::size_t i = 0; i < item.elements; ++i) add(*item.element[i], seen);
      return;
    default:
      return seen.text(item.str, item.len);
  }
}

class parser {
 public:
  parser() : reader_(redisReaderCreate()) {}
  ~parser() { redisReaderFree(reader_); }
  parser(const parser&) = delete;
  parser& operator=(const parser&) = delete;

  void parse(std::string_view bytes, std::size_t replies, bench::tally& seen) {
    redisReaderFeed(reader_, bytes.data(), bytes.size());
    for (; replies != 0; --replies) {
      void* reply = nullptr;
      const bool is_read = redisReaderGetReply(reader_, &reply) == REDIS_OK && reply != nullptr;
      bench::require(is_read, "hiredis has refused a reply");
      add(*static_cast<redisReply*>(reply), seen);
      freeReplyObject(reply);
    }
  }

 private:
  redisReader* reader_;
};

}  // namespace

int main(int argc, char** argv) { return bench::run_resp<parser>(argc, argv); }
