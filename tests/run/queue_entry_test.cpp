// SPDX-License-Identifier: BSL-1.0
// The list of entries: order, and what is left after taking everything.
#include <doctest/doctest.h>
#include <beck/detail/queue_entry.hpp>
#include <vector>

namespace {

std::vector<int> taken(beck::detail::entry_queue& queue, const beck::detail::queue_entry* first) {
  std::vector<int> order;
  while (!queue.empty()) order.push_back(static_cast<int>(queue.pop() - first));
  return order;
}

}  // namespace

TEST_CASE("entries leave a queue in the order in which they came") {
  beck::detail::queue_entry entries[3];
  beck::detail::entry_queue queue;
  CHECK(queue.empty());
  for (auto& entry : entries) queue.push(&entry);
  CHECK(taken(queue, entries) == std::vector<int>{0, 1, 2});
  CHECK(queue.empty());
}

TEST_CASE("an entry may be queued again as soon as it was taken") {
  beck::detail::queue_entry entries[2];
  beck::detail::entry_queue queue;
  queue.push(&entries[0]);
  queue.push(&entries[1]);
  queue.push(queue.pop());
  CHECK(taken(queue, entries) == std::vector<int>{1, 0});
  queue.push(&entries[0]);
  CHECK(queue.pop() == &entries[0]);
}

TEST_CASE("appending moves all entries behind those that are there and empties the other queue") {
  beck::detail::queue_entry entries[4];
  beck::detail::entry_queue front;
  beck::detail::entry_queue back;
  front.append(back);
  CHECK(front.empty());
  back.push(&entries[0]);
  front.append(back);  // to an empty one
  back.push(&entries[1]);
  back.push(&entries[2]);
  front.append(back);
  CHECK(back.empty());
  front.push(&entries[3]);
  CHECK(taken(front, entries) == std::vector<int>{0, 1, 2, 3});
}
