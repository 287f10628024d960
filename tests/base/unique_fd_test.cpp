// SPDX-License-Identifier: BSL-1.0
//
// A descriptor closed twice may be another one by then, so each path to close is counted here.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <beck/base/unique_fd.hpp>
#include <cerrno>
#include <string>
#include <type_traits>
#include <utility>

#include "base/dies.hpp"

namespace {

using beck::unique_fd;

static_assert(!std::is_copy_constructible_v<unique_fd>);
static_assert(std::is_nothrow_move_constructible_v<unique_fd>);
static_assert(sizeof(unique_fd) == sizeof(int));

unique_fd open_null() { return unique_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

TEST_CASE("a descriptor is closed when its owner dies, is reset or is assigned to") {
  int first = -1;
  {
    const unique_fd fd = open_null();
    first = fd.get();
    REQUIRE(fd);
    CHECK(is_open(first));
  }
  CHECK(!is_open(first));
  unique_fd a = open_null();
  unique_fd b = open_null();
  const int old = a.get(), kept = b.get();
  a = std::move(b);
  CHECK(!is_open(old));
  CHECK(a.get() == kept);
  CHECK(!b);
  a.reset();
  CHECK(!is_open(kept));
  CHECK(a.get() == -1);
}

TEST_CASE("a released descriptor stays open") {
  unique_fd a = open_null();
  const int fd = a.release();
  CHECK(!a);
  a.reset();
  CHECK(is_open(fd));
  const unique_fd again(fd);
}

TEST_CASE("closing reports the result, once, and leaves errno alone") {
  unique_fd a = open_null();
  errno = 77;
  CHECK(a.close() == 0);
  CHECK(a.close() == 0);
  CHECK(errno == 77);
  CHECK(!a);
}

TEST_CASE("a negative number owns nothing") {
  unique_fd a(-5);
  CHECK(a.get() == -1);
  CHECK(!a);
  unique_fd b;
  b.reset(-9);
  CHECK(b.get() == -1);
}

TEST_CASE("assigning an owner to itself keeps the descriptor") {
  unique_fd a = open_null();
  unique_fd& same = a;
  a = std::move(same);
  CHECK(is_open(a.get()));
}

TEST_CASE("closing a number that someone else closed is noticed") {
  CHECK(dies_with([] {
          unique_fd a = open_null();
          ::close(a.get());
          a.reset();
        }).find("closed by someone else") != std::string::npos);
  CHECK(dies_with([] {
          unique_fd a = open_null();
          a.reset(a.get());
        }).find("the descriptor that it owns") != std::string::npos);
}

}  // namespace
