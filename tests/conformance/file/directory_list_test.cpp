// SPDX-License-Identifier: BSL-1.0
//
// Listings: every entry once, in batches of any size, and what ends them.
#include <sys/stat.h>
#include <beck/coro/when_all.hpp>
#include <beck/file/directory.hpp>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <thread>

#include "support/context_options.hpp"
#include "support/file_tree.hpp"
#include "support/open_descriptors.hpp"
#include "support/stream_pair.hpp"

using beck::directory;
using beck::directory_entry;
using beck::directory_listing;
using beck::file_kind;
using beck::test::file_tree;
using beck::test::run_task;

namespace {

struct found {
  file_kind kind = file_kind::unknown;
  std::uint64_t inode = 0;
  int times = 0;
};

/// Everything in a directory, by name; adds the number of batches to `batches`.
beck::task<std::map<std::string, found>> all_of(directory& from, directory_listing& into,
                                                int& batches) {
  std::map<std::string, found> all;
  for (;;) {
    auto [ec, count] = co_await from.async_list(into);
    if (ec) {
      CHECK(ec == beck::error::eof);
      CHECK(count == 0);
      CHECK(into.begin() == into.end());
      break;
    }
    ++batches;
    CHECK(count > 0);
    std::size_t seen = 0;
    for (const directory_entry entry : into) {
      found& one = all[std::string(entry.name.data(), entry.name.size())];
      one.kind = entry.kind;
      one.inode = entry.inode;
      ++one.times;
      ++seen;
    }
    CHECK(seen == count);
  }
  co_return all;
}

std::string numbered(int i) { return "file-with-a-longer-name-" + std::to_string(i); }

}  // namespace

CONFORMANCE("a listing has every entry once, with its kind and number, but not itself") {
  beck::io_context ctx(context_options());
  file_tree tree(ctx, where, {"a", "a-b", "sub/b", "sub/c", "sub-d", "zeta/deep/e"});
  directory root(ctx, tree.root());
  run_task(ctx, [&]() -> beck::task<> {
    directory_listing listing;
    int batches = 0;
    auto all = co_await all_of(root, listing, batches);
    CHECK(batches == 1);
    CHECK(all.size() == 5);
    for (const char* name : {"a", "a-b", "sub", "sub-d", "zeta"}) {
      CAPTURE(name);
      CHECK(all[name].times == 1);
      auto status = co_await root.async_status(name);
      CHECK(all[name].kind == (*status).kind);
      CHECK(all[name].inode == (*status).inode);
    }
    CHECK(all["sub"].kind == file_kind::directory);
    CHECK(all["a"].kind == file_kind::regular);
  });
}

CONFORMANCE("a listing of many entries comes in batches that fit the memory") {
  beck::io_context ctx(context_options());
  file_tree tree(ctx, where, {});
  constexpr int files = 200;
  for (int i = 0; i < files; ++i) tree.add(numbered(i));
  directory root(ctx, tree.root());
  run_task(ctx, [&]() -> beck::task<> {
    directory_listing listing(1);  // the least: 1 KiB, about 20 entries
    for (int round = 0; round < 2; ++round) {
      int batches = 0;
      auto all = co_await all_of(root, listing, batches);
      CHECK(batches >= 8);
      CHECK(all.size() == files);
      for (const auto& [name, one] : all) CHECK(one.times == 1);
      auto over = co_await root.async_list(listing);
      CHECK(over.error() == beck::error::eof);
      listing.restart();
      CHECK(listing.begin() == listing.end());
    }
  });
}

CONFORMANCE("each listing of a directory begins at its first entry") {
  beck::io_context ctx(context_options());
  file_tree tree(ctx, where, {});
  for (int i = 0; i < 60; ++i) tree.add(numbered(i));
  directory root(ctx, tree.root());
  run_task(ctx, [&]() -> beck::task<> {
    directory_listing first(1024), second;
    auto part = co_await root.async_list(first);
    CHECK(*part < 60);
    auto whole = co_await root.async_list(second);
    CHECK(*whole == 60);
  });
}

CONFORMANCE("a listing of what is no directory, or closed, is refused") {
  beck::io_context ctx(context_options());
  file_tree tree(ctx, where, {"a"});
  run_task(ctx, [&]() -> beck::task<> {
    directory_listing listing;
    directory closed(ctx);
    auto none = co_await closed.async_list(listing);
    CHECK(none.error() == beck::error::bad_descriptor);
    CHECK(listing.begin() == listing.end());
    directory root(ctx, tree.root());
    auto some = co_await root.async_list(listing);
    CHECK(*some == 1);
    root.close();
    auto gone = co_await root.async_list(listing);
    CHECK(gone.error() == beck::error::bad_descriptor);
    CHECK(listing.begin() == listing.end());  // not the batch before
  });
}

CONFORMANCE("two listings that are started together are made one after the other") {
  beck::io_context ctx(context_options());
  file_tree tree(ctx, where, {"a", "b", "c"});
  directory root(ctx, tree.root());
  directory_listing first, second;
  std::string order;
  root.async_list(first, [&](beck::error_code ec, std::size_t count) {
    CHECK_FALSE(ec);
    CHECK(count == 3);
    order += '1';
  });
  root.async_list(second, [&](beck::error_code ec, std::size_t count) {
    CHECK_FALSE(ec);
    CHECK(count == 3);
    order += '2';
  });
  ctx.run();
  CHECK(order == "12");
}

CONFORMANCE("a listing whose directory is closed or cancelled ends, and all others behind it") {
  const auto before = beck::test::open_descriptors();
  for (const bool closes : {true, false}) {
    beck::io_context ctx(context_options());
    file_tree tree(ctx, where, {"a"});
    directory root(ctx, tree.root());
    directory_listing first, second;
    int ended = 0;
    const auto note = [&](beck::error_code ec, std::size_t) {
      CHECK((!ec || ec == beck::error::operation_aborted));
      ++ended;
    };
    root.async_list(first, note);
    root.async_list(second, note);
    closes ? root.close() : root.cancel();
    ctx.run();
    CHECK(ended == 2);
  }
  CHECK(beck::test::open_descriptors() == before);
}

CONFORMANCE_ON(beck::test::kernel, "an empty directory has no batch, and odd files have kinds") {
  beck::io_context ctx(context_options());
  file_tree tree(ctx, where, {});
  directory root(ctx, tree.root());
  run_task(ctx, [&]() -> beck::task<> {
    directory_listing listing;
    auto none = co_await root.async_list(listing);
    CHECK(none.error() == beck::error::eof);
    REQUIRE(::mkfifo((tree.root() + "/pipe").c_str(), 0600) == 0);
    std::filesystem::create_symlink("nowhere", tree.root() + "/link");
    listing.restart();
    int batches = 0;
    auto all = co_await all_of(root, listing, batches);
    CHECK(all["pipe"].kind == file_kind::pipe);
    CHECK(all["link"].kind == file_kind::symbolic_link);
  });
}

CONFORMANCE_ON(beck::test::epoll | beck::test::sim,
               "threads of a shared context open and list in one directory") {
  beck::io_context ctx(context_options({.threads = 2}));
  file_tree tree(ctx, where, {"a", "b"});
  directory root(ctx, tree.root());
  beck::random_access_file file(ctx), other(ctx);
  directory_listing listing;
  int done = 0;
  const auto opened = [&](beck::error_code ec, beck::file_status status) {
    CHECK_FALSE(ec);
    CHECK(status.bytes == 1);
  };
  const auto reading = beck::file_object::read_only;
  root.async_open_file(file, "a", reading, directory::inside, opened);
  root.async_open_file(other, "b", reading, directory::inside, opened);
  root.async_list(listing, [&](beck::error_code ec, std::size_t count) {
    CHECK_FALSE(ec);
    CHECK(count == 2);
    ++done;
  });
  if (where == beck::test::on_sim) {
    ctx.run();
  } else {
    std::thread second([&ctx] { ctx.run(); });
    ctx.run();
    second.join();
  }
  CHECK(done == 1);
  CHECK(file.is_open());
  CHECK(other.is_open());
}
