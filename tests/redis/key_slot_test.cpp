// SPDX-License-Identifier: BSL-1.0
// Slots of keys, compared with those that a server names (CLUSTER KEYSLOT).
#include <beck/redis/key_slot.hpp>

#include <doctest/doctest.h>

#include <string>

using beck::redis::key_slot;

TEST_CASE("redis: a key's slot is the one that servers compute") {
  CHECK(key_slot("123456789") == 0x31c3);  // the check value of the cluster specification
  CHECK(key_slot("") == 0);
  CHECK(key_slot("foo") == 12182);
  CHECK(key_slot("somekey") == 11058);
  CHECK(key_slot(std::string_view("\0\0", 2)) == 0);
  CHECK(key_slot("\xff\xfe") == key_slot(std::string("\xff\xfe")));
}

TEST_CASE("redis: of a key with a hash tag only the first tag counts") {
  CHECK(key_slot("foo{hash_tag}") == 2515);
  CHECK(key_slot("{hash_tag}") == key_slot("hash_tag"));
  CHECK(key_slot("{user1000}.following") == key_slot("{user1000}.followers"));
  CHECK(key_slot("foo{bar}{zap}") == key_slot("bar"));
  CHECK(key_slot("foo{{bar}}zap") == key_slot("{bar"));
}

TEST_CASE("redis: an empty or unclosed tag is no tag") {
  CHECK(key_slot("foo{}{bar}") != key_slot("bar"));
  CHECK(key_slot("foo{}{bar}") == 8363);
  CHECK(key_slot("foo{bar") != key_slot("bar"));
  CHECK(key_slot("}foo{") != key_slot(""));
}
