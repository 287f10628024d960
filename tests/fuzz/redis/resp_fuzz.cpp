// SPDX-License-Identifier: BSL-1.0
// Replies of a server: whatever arrives, every split of it gives the same tokens, the value of each
// reply is the tree of its tokens, and neither work nor memory is more than the bytes pay for.
// redis/replies.hpp checks the latter three.
#include <string>
#include <vector>

#include "fuzz/http/fuzz.hpp"
#include "redis/replies.hpp"

namespace {

using namespace beck::redis;
using namespace beck::redis::test;
using namespace beck::http::fuzz;

arrival chosen(choices& input) {
  arrival how;
  const unsigned choice = input.byte();
  how.version = (choice & 1) != 0 ? protocol::resp2 : protocol::resp3;
  how.pushes_inside = (choice & 2) != 0;
  if ((choice & 4) != 0) how.limits.depth = 3;
  if ((choice & 8) != 0) how.limits.line_bytes = 6;
  if ((choice & 16) != 0) how.limits.reply_bytes = 60;
  if ((choice & 32) != 0) how.limits.elements = 6;
  if ((choice & 64) != 0) how.limits.push_bytes = 25;
  how.limits.whole_bytes = 4 + input.byte() % 64;
  how.stop = (choice & 128) != 0 ? parse_stop::behind_reply : parse_stop::nowhere;
  return how;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  choices input(text_of(data, size));
  arrival how = chosen(input);
  const std::string_view text = input.rest();
  const std::string whole = transcript_of(text, how);
  require(whole.find(" in ") == std::string::npos, whole.c_str());
  at_splits(text, [&](std::size_t at) {
    how.cuts = {at};
    require_equal(whole, transcript_of(text, how), "a split matters");
  });
  how.room = 1;
  require_equal(whole, transcript_of(text, how), "the room for tokens matters");
  if (text.size() > 512) return 0;
  how.room = 7;
  how.cuts.clear();
  for (std::size_t at = 1; at < text.size(); ++at) how.cuts.push_back(at);
  require_equal(whole, transcript_of(text, how), "bytes one by one matter");
  return 0;
}
