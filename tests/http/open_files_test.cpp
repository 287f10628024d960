// SPDX-License-Identifier: BSL-1.0
// Files that are kept open: what that saves, what it hides for a while, and its bound.
#include <beck/http/static_files.hpp>

#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "http/file_folder.hpp"
#include "http/files/file_site.hpp"
#include "support/allocations.hpp"
#include "support/open_descriptors.hpp"

using namespace beck::http::test;
namespace http = beck::http;

CONFORMANCE(
    "http files: one that is kept open is asked for once, and its change is noticed later") {
  const http::file_options how = http::file_options().keep_open(beck::duration(3'600'000'000'000));
  file_folder f(where, how);
  f.write("a.txt", "one");
  CHECK(f.ask("/a.txt").body == "one");
  if (f.is_real) {
    std::filesystem::remove(f.root + "/a.txt");
    CHECK(f.ask("/a.txt").body == "one");
    CHECK(f.ask("/a.txt", {}, "HEAD").status == 200);
  }
  f.write("a.txt", "another");
  CHECK(f.ask("/a.txt").body.size() == 3);
  f.wait(3'601);
  if (!f.is_real) CHECK(f.ask("/a.txt").body == "another");
}

CONFORMANCE("http files: one may be kept open for ever") {
  file_folder f(where, http::file_options().keep_open(beck::duration::max()));
  f.write("a.txt", "one");
  CHECK(f.ask("/a.txt").body == "one");
  f.write("a.txt", "another");
  f.wait(3'600'000);
  CHECK(f.ask("/a.txt").body.size() == 3);
}

CONFORMANCE("http files: without keep_open() a change is noticed at once") {
  file_folder f(where);
  f.write("a.txt", "one");
  CHECK(f.ask("/a.txt").body == "one");
  f.write("a.txt", "another");
  CHECK(f.ask("/a.txt").body == "another");
}

CONFORMANCE("http files: one that is kept open is sent over several connections at once") {
  file_folder f(where, http::file_options().keep_open(beck::duration(60'000'000'000)));
  std::string content(300'000, ' ');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>('a' + i % 23);
  f.write("a.txt", content);
  f.ask("/a.txt");
  std::vector<peer*> peers;
  for (int i = 0; i < 10; ++i) peers.push_back(&f.s.start(last_get("/a.txt")));
  for (const peer* one : peers) f.s.run_until([&] { return one->done; });
  for (const peer* one : peers) CHECK((one->responses().at(0).body == content));
}

CONFORMANCE_ON(beck::test::kernel, "http files: at most 512 are kept open") {
  file_folder f(where, http::file_options().keep_open(beck::duration(3'600'000'000'000)));
  for (int i = 0; i < 520; ++i) f.write(std::to_string(i), "x");
  f.ask("/0");
  const std::size_t before = beck::test::open_descriptors().size();
  for (int i = 1; i < 520; ++i) CHECK(f.ask("/" + std::to_string(i)).body == "x");
  CHECK(beck::test::open_descriptors().size() <= before + 512);
  CHECK(beck::test::open_descriptors().size() >= before + 500);
}

CONFORMANCE_ON(beck::test::kernel, "http files: one that there is no memory to note is not kept") {
  NEEDS_ALLOCATION_FAULTS();
  file_folder f(where);
  for (int i = 0; i < 40; ++i) f.write(std::to_string(i), "x");
  beck::directory root(f.s.ctx);
  root.open(f.root);
  const std::size_t before = beck::test::open_descriptors().size();
  bool fired = true;
  int n = 0;
  while (fired) {
    ++n;
    CAPTURE(n);
    fired = false;
    http::detail::open_files files(beck::duration(1));
    for (int i = 0; i < 40; ++i) {
      const std::string name = std::to_string(i);
      bool ended = false;
      const beck::test::allocation_fault fault(i % 39 == 0 ? 0 : n);  // the map has grown
      try {
        co_spawn(f.s.ctx, files.open(root, name), [&](auto...) { ended = true; });
        f.s.run_until([&] { return ended; });
      } catch (const std::bad_alloc&) {}
      fired = fired || fault.fired();
    }
    CHECK(beck::test::open_descriptors().size() == before + 1);  // the last one
  }
  CHECK(n > 3);
}
