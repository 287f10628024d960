// SPDX-License-Identifier: BSL-1.0
// A folder with files, and a server of them, for cases about static_files.
#pragma once

#include <beck/file/random_access_file.hpp>
#include <beck/http/date.hpp>
#include <beck/http/router.hpp>
#include <beck/http/static_files.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/system_timer.hpp>

#include <filesystem>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>

#include "http/served.hpp"
#include "support/conformance.hpp"
#include "support/file_place.hpp"

namespace beck::http::test {

/// The folder "site" below the place of the case. In a simulation it exists as long as a file does.
class file_folder {
 public:
  explicit file_folder(backend where, const file_options& how = file_options(),
                       std::string_view prefix = {})
      : place(where),
        root(place.path("site")),
        is_real(where != beck::test::on_sim),
        s(make_handler(how, prefix)) {
    if (is_real) std::filesystem::create_directory(root);
  }

  /// Writes a file whose last change is `age` seconds ago.
  void write(const std::string& name, std::string_view content, int age = 3600) {
    const std::string whole = root + "/" + name;
    if (is_real) std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
    random_access_file file(s.ctx, whole,
                            file_object::write_only | file_object::create | file_object::truncate);
    if (!content.empty())
      REQUIRE(file.write_some_at(0, buffer(content.data(), content.size())) == content.size());
    file.close();
    if (is_real && age != 0) {
      const std::int64_t now = system_now().nanoseconds() / 1'000'000'000;
      const timespec changed[2] = {{now - age, 500'000'000}, {now - age, 500'000'000}};
      REQUIRE(::utimensat(AT_FDCWD, whole.c_str(), changed, 0) == 0);
    }
  }
  /// Lets time pass in a simulation, where a file cannot be made older.
  void wait(long long seconds) {
    if (is_real) return;
    bool rang = false;
    steady_timer timer(s.ctx, duration(seconds * 1'000'000'000));
    timer.async_wait([&](error_code) { rang = true; });
    s.run_until([&] { return rang; });
  }

  /// Asks with GET, or another method, and returns the one response.
  seen_response ask(std::string_view path, std::string_view fields = {},
                    std::string_view method = "GET") {
    const std::string text =
        s.talk(std::string(method) + " " + std::string(path) +
               " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + std::string(fields) + "\r\n");
    const auto all = responses_in(text, method == "HEAD");
    REQUIRE(all.size() == 1);
    CHECK(all[0].whole);
    if (method == "HEAD") CHECK(text.size() == all[0].fields.size());
    return all[0];
  }
  /// Returns the value of a field of a response; "-" if it has none.
  static std::string field_of(const seen_response& of, const std::string& name) {
    const std::size_t at = of.fields.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "-";
    const std::size_t begin = at + name.size() + 4;
    return of.fields.substr(begin, of.fields.find('\r', begin) - begin);
  }

  beck::test::file_place place;
  std::string root;
  bool is_real;
  served s;

 private:
  router make_handler(const file_options& how, std::string_view prefix) const {
    router site;
    site.mount(prefix.empty() ? "/" : prefix, static_files(root, how));
    return site;
  }
};

}  // namespace beck::http::test
