// SPDX-License-Identifier: BSL-1.0
// Opening beneath a directory without openat2(2): every path has the same answer as with it.
#include <doctest/doctest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/system/posix_beneath.hpp"
#include "support/open_descriptors.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using beck::detail::open_beneath;

namespace {

/// A tree with links that stay in it, leave it, lead nowhere and round in circles.
class linked_tree {
 public:
  linked_tree() : root_(place_.path("root")) {
    fs::create_directories(root_ + "/d/e/f");
    for (const char* file : {"/a", "/d/a", "/d/e/a", "/d/e/f/a"})
      std::ofstream(root_ + file) << file;
    std::ofstream(place_.path("outside")) << "outside";
    const std::pair<const char*, std::string> links[] = {
        {"/near", "a"},
        {"/down", "d/e"},
        {"/d/up", "../a"},
        {"/d/e/far", "../.."},
        {"/d/out", "../../outside"},
        {"/absolute", root_ + "/a"},
        {"/d/loop", "loop"},
        {"/ring", "d/ring"},
        {"/d/ring", "../ring"},
        {"/lost", "d/nothing"},
        {"/d/e/slash", "../e/"},
        {"/d/self", "."},
        {"/through", "down/far/d/self/e/f"},
    };
    for (const auto& [name, to] : links) fs::create_symlink(to, root_ + name);
    fd_ = ::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(fd_ >= 0);
  }
  ~linked_tree() { ::close(fd_); }

  int fd() const { return fd_; }

 private:
  beck::test::temporary_folder place_;
  std::string root_;
  int fd_;
};

/// The answer to an open: the file, or an error.
std::string answer_of(int fd) {
  if (fd < 0) return "error " + std::to_string(fd);
  struct stat status{};
  REQUIRE(::fstat(fd, &status) == 0);
  ::close(fd);
  return "file " + std::to_string(status.st_ino);
}

int open_by_kernel(int directory, const char* path, unsigned flags, unsigned resolve) {
  open_how how{};
  how.flags = flags;
  how.resolve = resolve | RESOLVE_BENEATH;
  // EAGAIN: something on the machine was renamed or mounted while a ".." was resolved.
  for (int tries = 0; tries < 1000; ++tries) {
    const auto fd = ::syscall(SYS_openat2, directory, path, &how, sizeof how);
    if (fd >= 0) return static_cast<int>(fd);
    if (errno != EAGAIN) break;
  }
  return -errno;
}

}  // namespace

TEST_CASE("a path beneath a directory leads where openat2 leads") {
  const linked_tree tree;
  if (open_by_kernel(tree.fd(), "a", O_RDONLY | O_CLOEXEC, 0) == -ENOSYS) return;
  const auto before = beck::test::open_descriptors();
  std::mt19937 random(1);
  const char* const names[] = {"a",       "d",    "e",    "f",     "..",   ".",      "",
                               "nothing", "near", "down", "up",    "far",  "out",    "absolute",
                               "loop",    "ring", "lost", "slash", "self", "through"};
  constexpr unsigned kinds[] = {O_RDONLY, O_PATH, O_RDONLY | O_DIRECTORY, O_RDONLY | O_NOFOLLOW,
                                O_PATH | O_NOFOLLOW};
  int found = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string path(names[random() % std::size(names)]);
    for (auto more = random() % 6; more != 0; --more) {
      path += '/';
      path += names[random() % std::size(names)];
    }
    const unsigned flags = kinds[random() % std::size(kinds)] | O_CLOEXEC;
    const unsigned resolve = random() % 4 == 0 ? RESOLVE_NO_SYMLINKS : 0;
    CAPTURE(path);
    CAPTURE(flags);
    CAPTURE(resolve);
    const int fd = open_by_kernel(tree.fd(), path.c_str(), flags, resolve);
    if (fd >= 0) ++found;
    const std::string expected = answer_of(fd);
    REQUIRE(answer_of(open_beneath(tree.fd(), path.c_str(), flags, 0, resolve)) == expected);
  }
  CHECK(found > 500);
  CHECK(beck::test::open_descriptors() == before);
}

TEST_CASE("a path beneath a directory has bounds, and makes files where it may") {
  const linked_tree tree;
  constexpr unsigned reading = O_RDONLY | O_CLOEXEC;
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += "d/self/../";
  CHECK(answer_of(open_beneath(tree.fd(), (deep.substr(0, 390) + "a").c_str(), reading, 0, 0))[0] ==
        'f');
  CHECK(open_beneath(tree.fd(), deep.c_str(), reading, 0, 0) == -ELOOP);
  CHECK(open_beneath(tree.fd(), std::string(5000, 'x').c_str(), reading, 0, 0) == -ENAMETOOLONG);
  constexpr unsigned making = O_WRONLY | O_CREAT | O_CLOEXEC;
  const int made = open_beneath(tree.fd(), "lost", making, 0600, 0);
  CHECK(answer_of(made)[0] == 'f');
  CHECK(open_beneath(tree.fd(), "d/nothing", making | O_EXCL, 0600, 0) == -EEXIST);
  CHECK(open_beneath(tree.fd(), "d/out", making, 0600, 0) == -EXDEV);
  CHECK(open_beneath(tree.fd(), "../made", making, 0600, 0) == -EXDEV);
}
