// SPDX-License-Identifier: BSL-1.0
// From a request to an open file. file_response.cpp answers with the file, file_listing.cpp with a
// folder.
#include <beck/http/static_files.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "http/files/file_site.hpp"
#include "http/message/characters.hpp"
#include "http/message/parameters.hpp"
#include "http/server/exchange_state.hpp"

namespace beck::http {
namespace detail {
namespace {

[[noreturn]] void refuse(const char* setter, std::string_view value, const char* reason) {
  throw std::invalid_argument("http: " + std::string(setter) + "(\"" +
                              std::string(value.substr(0, 100)) + "\"): " + reason);
}

void check_value(const char* setter, std::string_view value) {
  if (!is_field_value(value)) refuse(setter, value, "a control character");
}

std::string in_lower_case(std::string_view text) {
  std::string made(text);
  for (char& c : made) c = lower(c);
  return made;
}

/// Returns whether a segment of a path begins with a dot.
bool is_hidden(std::string_view path) noexcept { return path.find("/.") != std::string_view::npos; }

/// Responds with 405, or to OPTIONS with the list of methods.
void say_methods(request& q, response& r) {
  r.set(field::allow, "GET, HEAD, OPTIONS");
  if (q.method() == method::options) {
    r.status(status::no_content).send();
  } else {
    const bool is_known = q.method() != method::other;
    r.fail(is_known ? status::method_not_allowed : status::not_implemented, "files are only read");
  }
}

/// Redirects to the same target with a slash after its path. The path begins with exactly one
/// slash, so the redirect never leads to another host.
void redirect_to_slash(request& q, response& r) {
  std::string target(split_target(q.target()).path);
  target += '/';
  if (!q.query().empty()) target.append("?").append(q.query());
  r.set(field::location, target);
  r.status(status::moved_permanently).set(field::content_type, "text/plain; charset=utf-8");
  r.send("the folder has a slash at its end\n");
}

/// Returns whether a media range of Accept is text/html, with a weight that is not zero.
bool is_html(std::string_view range) {
  const std::size_t end = std::min(range.find(';'), range.size());
  if (!equal_in_any_case(trimmed(range.substr(0, end)), "text/html")) return false;
  parameter_reader parameters(range.substr(end));
  parameter each;
  while (parameters.read(each)) {
    if (equal_in_any_case(each.name, "q"))
      return each.value.find_first_not_of("0.") != std::string::npos;
  }
  return !parameters.is_bad();
}

/// Returns whether the client lists text/html among the media types that it accepts.
bool wants_page(const request_head& head) {
  for (const field_view each : head) {
    std::string_view ranges = each.id == field::accept ? each.value : std::string_view();
    while (!ranges.empty())
      if (is_html(take_element(ranges))) return true;
  }
  return false;
}

/// Returns the open folder of the request's context. The first call opens it, and may block on the
/// device.
open_site& open_here(const file_site& site, exchange_port& on, error_code& ec) {
  std::shared_ptr<void>& kept = on.local(&site);
  if (kept == nullptr) kept = std::make_shared<open_site>(on.executor(), site.settings);
  auto& open = *static_cast<open_site*>(kept.get());
  if (!open.root.is_open()) open.root.open(site.folder, ec);
  return open;
}

/// Responds to a path without a file: with the fallback to clients that want a page, else with 404.
task<> answer_absence(file_call call) {
  const std::string& name = call.site.settings.fallback;
  if (!name.empty() && wants_page(call.q.head())) {
    auto found = co_await call.open.files.open(call.open.root, name);
    const error_code ec = found.error();
    if (!ec && found.value_->status.kind == file_kind::regular) {
      call.is_fallback = true;
      open_file& file = *found.value_;
      co_await send_found_file(call, name, file.file, file.status);
      co_return;
    }
    if (ec && !is_absence(ec)) {
      say_error(call.r, ec);
      co_return;
    }
  }
  if (!name.empty()) call.r.set(field::vary, "Accept");
  call.r.fail(status::not_found, "not found");
}

/// Responds to a path without a slash at its end.
task<> answer_file(file_call call, std::string name) {
  auto found = co_await call.open.files.open(call.open.root, name);
  open_file& file = *found.value_;
  if (is_absence(found.error())) {
    co_await answer_absence(call);
  } else if (found.error()) {
    say_error(call.r, found.error());
  } else if (file.status.kind == file_kind::directory) {
    redirect_to_slash(call.q, call.r);
  } else if (file.status.kind != file_kind::regular) {
    call.r.fail(status::not_found, "not found");
  } else {
    co_await send_found_file(call, name, file.file, file.status);
  }
}

/// Responds to a path with a slash at its end. `folder`: the path without it; empty for the root.
task<> answer_folder(file_call call, std::string folder) {
  const file_settings& settings = call.site.settings;
  if (!settings.index.empty()) {
    const std::string name = folder.empty() ? settings.index : folder + '/' + settings.index;
    auto found = co_await call.open.files.open(call.open.root, name);
    const error_code ec = found.error();
    if (!ec && found.value_->status.kind == file_kind::regular) {
      open_file& file = *found.value_;
      co_await send_found_file(call, name, file.file, file.status);
      co_return;
    }
    if (ec && !is_absence(ec)) {
      say_error(call.r, ec);
      co_return;
    }
  }
  if (settings.listing) {
    if (folder.empty()) folder = ".";
    co_await send_listing(call, folder);
  } else {
    co_await answer_absence(call);
  }
}

}  // namespace

}  // namespace detail

using namespace detail;

file_options::file_options() : settings_(new file_settings) {}

file_options::file_options(const file_options& other)
    : settings_(new file_settings(*other.settings_)) {}

file_options& file_options::operator=(const file_options& other) {
  file_options copy(other);
  std::swap(settings_, copy.settings_);
  return *this;
}

file_options::~file_options() { delete settings_; }

file_options& file_options::index(std::string_view name) {
  if (name.find('/') != std::string_view::npos) refuse("index", name, "a slash in the name");
  check_value("index", name);
  settings_->index = name;
  return *this;
}

file_options& file_options::fallback(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.back() == '/')
    refuse("fallback", name, "not the name of a file in the folder");
  check_value("fallback", name);
  settings_->fallback = name;
  return *this;
}

file_options& file_options::precompressed(std::string_view codings) {
  std::vector<content_coding> made;
  while (!codings.empty()) {
    const std::size_t end = std::min(codings.find(' '), codings.size());
    const std::string_view name = codings.substr(0, end);
    codings.remove_prefix(std::min(end + 1, codings.size()));
    if (name.empty()) continue;
    content_coding found = content_coding::identity;
    for (const content_coding c : {content_coding::gzip, content_coding::br, content_coding::zstd})
      if (name == name_of(c)) found = c;
    if (found == content_coding::identity) refuse("precompressed", name, "not br, gzip or zstd");
    if (std::find(made.begin(), made.end(), found) == made.end()) made.push_back(found);
  }
  settings_->codings = std::move(made);
  return *this;
}

file_options& file_options::listing(bool on) noexcept {
  settings_->listing = on;
  return *this;
}

file_options& file_options::keep_open(duration time) noexcept {
  settings_->keep_open = time;
  return *this;
}

file_options& file_options::cache_control(std::string_view value) {
  check_value("cache_control", value);
  settings_->cache_control = value;
  return *this;
}

file_options& file_options::type(std::string_view extension, std::string_view media_type) {
  if (extension.empty() || extension.find_first_of("./") != std::string_view::npos)
    refuse("type", extension, "not an extension without its dot");
  check_value("type", media_type);
  settings_->types.insert(settings_->types.begin(),
                          {in_lower_case(extension), std::string(media_type)});
  return *this;
}

static_files::static_files(std::string_view folder, const file_options& how) : site_(nullptr) {
  auto made = std::make_unique<file_site>();
  made->folder = folder;
  made->settings = *how.settings_;
  site_ = made.release();
}

static_files::static_files(const static_files& other) noexcept : site_(other.site_) {
  site_->holders.add();
}

static_files& static_files::operator=(const static_files& other) noexcept {
  static_files copy(other);
  std::swap(site_, copy.site_);
  return *this;
}

static_files::~static_files() {
  if (site_->holders.drop()) delete site_;
}

task<> static_files::operator()(request& q, response& r) const {
  route_match& match = state_of(q).handler.route;
  if (q.method() != method::get && q.method() != method::head) {
    say_methods(q, r);
    co_return;
  }
  if (!match.has_path()) {
    const path_error refused = match.decode(q.path());
    if (refused != path_error::none) {
      r.fail(status::bad_request, text_of(refused));
      co_return;
    }
  }
  const std::string_view path = match.path();
  if (path.empty()) {
    redirect_to_slash(q, r);
    co_return;
  }
  if (is_hidden(path)) {
    r.fail(status::not_found, "not found");
    co_return;
  }
  error_code ec;
  file_call call{*site_, open_here(*site_, *state_of(q).port, ec), q, r};
  if (ec) {
    say_error(r, ec);
  } else if (path.back() != '/') {
    std::string name(path.substr(1));
    co_await answer_file(call, std::move(name));
  } else {
    std::string name(path.substr(1, std::max<std::size_t>(path.size(), 2) - 2));
    co_await answer_folder(call, std::move(name));
  }
}

}  // namespace beck::http
