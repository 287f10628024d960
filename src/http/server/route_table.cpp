// SPDX-License-Identifier: BSL-1.0
// Patterns are checked and split once, when they are added. A search prefers given texts, and
// returns to the captures on its way if those lead nowhere.
#include "http/server/route_table.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <beck/base/assert.hpp>

#include "http/message/characters.hpp"
#include "http/server/layer_run.hpp"

namespace beck::http::detail {
namespace {

/// Throws the exception for a pattern that cannot be added.
[[noreturn]] void refuse(std::string_view pattern, std::string_view reason) {
  std::string text("http: the route \"");
  text.append(pattern.substr(0, 100)).append("\": ").append(reason);
  throw std::invalid_argument(text);
}

bool is_name(std::string_view text) noexcept {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9');
  });
}

/// Adds the name of a capture, "{name}" without the braces.
void add_name(std::string_view pattern, std::string_view name, route& to) {
  if (!is_name(name)) refuse(pattern, "a name is a letter or _, then letters, digits and _");
  if (std::find(to.names.begin(), to.names.end(), name) != to.names.end())
    refuse(pattern, "two captures have one name");
  if (to.names.size() == route_search::captures_max) refuse(pattern, "more than 8 captures");
  to.names.emplace_back(name);
}

void check_pattern(std::string_view pattern) {
  if (pattern.substr(0, 1) != "/") refuse(pattern, "it does not begin with /");
  if (pattern.size() > route_table::pattern_bytes_max) refuse(pattern, "more than 1024 bytes");
  if (pattern.find('?') != std::string_view::npos) refuse(pattern, "a query is not matched");
  if (std::count(pattern.begin(), pattern.end(), '/') > std::ptrdiff_t{route_table::segments_max})
    refuse(pattern, "more than 32 segments");
}

void check_segment(std::string_view pattern, std::string_view segment, bool is_last) {
  if (segment.find_first_of("{}") != std::string_view::npos)
    refuse(pattern, "a capture is a whole segment, {name} or {name...}");
  if (segment.empty() && !is_last) refuse(pattern, "a segment is empty");
  if (segment == "." || segment == "..") refuse(pattern, "a segment is . or .., which is refused");
  if (std::any_of(segment.begin(), segment.end(),
                  [](char c) { return is_control(c) || c == '\\'; }))
    refuse(pattern, "it has a character that is refused in paths");
}

/// Returns the value of the Allow field when `more` is added.
std::string allowed_by(const resource& at, method more) {
  const auto has = [&](method m) {
    return m == more || at.of_method[static_cast<std::size_t>(m)] != nullptr;
  };
  std::string text;
  for (const method m : {method::get, method::head, method::post, method::put, method::delete_,
                         method::patch, method::options}) {
    if (!has(m) && m != method::options && !(m == method::head && has(method::get))) continue;
    text.append(text.empty() ? "" : ", ").append(name_of(m));
  }
  return text;
}

bool is_routable(method m) noexcept {
  return m != method::other && m != method::connect && m != method::trace;
}

}  // namespace

const route* resource::find(method m) const noexcept {
  const route* found = of_method[static_cast<std::size_t>(m)];
  if (found == nullptr && m == method::head)
    found = of_method[static_cast<std::size_t>(method::get)];
  return found != nullptr ? found : of_all;
}

// --- the tree ------------------------------------------------------------------------------------

std::uint32_t route_table::add_node(std::string_view text) {
  nodes_.emplace_back();
  nodes_.back().text = text;
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

/// Returns the node after `{name}`; makes it if there is none.
std::uint32_t route_table::follow_any(std::uint32_t at) {
  if (nodes_[at].any == 0) {
    const std::uint32_t made = add_node({});
    nodes_[at].any = made;
  }
  return nodes_[at].any;
}

/// Splits the node `at`: it keeps the first `bytes` bytes of its text, and gets one child with the
/// rest of the text and all other contents.
void route_table::split(std::uint32_t at, std::size_t bytes) {
  BECK_ASSERT(bytes != 0 && bytes < nodes_[at].text.size(), "a node is split at one of its ends");
  const std::uint32_t behind = add_node({});
  node& lower = nodes_[behind];
  node& upper = nodes_[at];
  std::swap(lower, upper);
  upper.text = lower.text.substr(0, bytes);
  lower.text.erase(0, bytes);
  upper.first = lower.text[0];
  upper.children.push_back(behind);
}

/// Returns the node after `text`; makes it if there is none.
std::uint32_t route_table::follow(std::uint32_t at, std::string_view text) {
  while (!text.empty()) {
    const std::uint32_t child = nodes_[at].child_of(text[0]);
    if (child == 0) {
      const std::uint32_t made = add_node(text);
      nodes_[at].first += text[0];
      nodes_[at].children.push_back(made);
      return made;
    }
    const std::string_view known = nodes_[child].text;
    const std::size_t shorter = std::min(known.size(), text.size());
    std::size_t equal = 1;
    while (equal < shorter && known[equal] == text[equal]) ++equal;
    if (equal < known.size()) split(child, equal);
    text.remove_prefix(equal);
    at = child;
  }
  return at;
}

/// Returns the node of a pattern; makes it if there is none. Fills the names of `made`.
std::uint32_t route_table::reach(std::string_view pattern, route& made, bool& takes_rest) {
  check_pattern(pattern);
  std::uint32_t at = 0;
  std::size_t given = 0;  // the beginning of the given text that was not followed yet
  for (std::size_t begin = 1, end = 0; end < pattern.size(); begin = end + 1) {
    end = std::min(pattern.find('/', begin), pattern.size());
    const bool is_last = end == pattern.size();
    const std::string_view segment = pattern.substr(begin, end - begin);
    if (segment.size() < 2 || segment.front() != '{' || segment.back() != '}') {
      check_segment(pattern, segment, is_last);
      continue;
    }
    std::string_view name = segment.substr(1, segment.size() - 2);
    takes_rest = name.size() >= 3 && name.substr(name.size() - 3) == "...";
    if (takes_rest && !is_last) refuse(pattern, "{name...} is not its last segment");
    if (takes_rest) name.remove_suffix(3);
    add_name(pattern, name, made);
    at = follow(at, pattern.substr(given, begin - given));
    if (!takes_rest) at = follow_any(at);
    given = end;
  }
  return follow(at, pattern.substr(std::min(given, pattern.size())));
}

/// Returns the resource for a pattern.
resource& route_table::place(std::string_view pattern, route& made) {
  bool takes_rest = false;
  node& at = nodes_[reach(pattern, made, takes_rest)];
  std::unique_ptr<resource>& found = takes_rest ? at.rest : at.here;
  if (found == nullptr) found = std::make_unique<resource>();
  return *found;
}

// --- adding --------------------------------------------------------------------------------------

void route_table::require_unserved() const {
  if (is_served_.load(std::memory_order_relaxed))
    throw std::logic_error("http: a router is changed that has served a request");
}

void route_table::add(method m, std::string_view pattern, std::unique_ptr<route> made) {
  require_unserved();
  if (!is_routable(m)) refuse(pattern, "a method that is not routed");
  made->pattern = pattern;
  routes_.reserve(routes_.size() + 1);
  resource& at = place(pattern, *made);
  const route*& mine = at.of_method[static_cast<std::size_t>(m)];
  if (mine != nullptr)
    refuse(pattern, "there is a route for " + std::string(name_of(m)) + " already, \"" +
                        mine->pattern + '"');
  at.allow = allowed_by(at, m);
  mine = made.get();
  routes_.push_back(std::move(made));
}

void route_table::mount(std::string_view prefix, std::unique_ptr<route> made) {
  require_unserved();
  check_pattern(prefix);
  if (prefix.find('{') != std::string_view::npos) refuse(prefix, "a prefix has no captures");
  made->pattern = prefix;
  routes_.reserve(routes_.size() + 1);
  std::string folder(prefix);
  if (prefix.empty() || prefix.back() != '/') folder += '/';
  resource* places[2] = {};
  places[0] = &place(folder + "{rest...}", *made);
  made->names.clear();
  if (folder != "/") {
    folder.pop_back();
    places[1] = &place(folder, *made);
  }
  for (const resource* at : places) {
    if (at != nullptr && at->of_all != nullptr)
      refuse(prefix, "there is a handler for all methods already, \"" + at->of_all->pattern + '"');
  }
  for (resource* at : places)
    if (at != nullptr) at->of_all = made.get();
  routes_.push_back(std::move(made));
}

void route_table::set_otherwise(std::unique_ptr<route> made) {
  require_unserved();
  if (otherwise_ != nullptr)
    throw std::invalid_argument("http: a router has two handlers for paths without a route");
  otherwise_ = std::move(made);
}

void route_table::add_layer(const layer& made) {
  try {
    require_unserved();
    if (layers_.size() == layer_run::layers_max)
      throw std::length_error("http: more than 16 calls of use() on a router");
    layers_.push_back(made);
  } catch (...) {
    made.destroy(made.object);
    throw;
  }
}

route_table::~route_table() {
  for (const layer& one : layers_) one.destroy(one.object);
}

// --- searching -----------------------------------------------------------------------------------

void route_table::find(std::string_view path, route_search& to) const noexcept {
  struct choice {
    const node* at;
    std::size_t consumed;
    std::size_t captures;
    bool any_tried;
  };
  choice passed[segments_max + 1];  // captures that may still be tried, one for each segment
  std::size_t choices = 0;
  std::size_t consumed = 0;
  std::size_t captures = 0;
  const node* at = nodes_.data();
  to.found = nullptr;
  to.below = {};
  for (;;) {
    if (at->any != 0 || at->rest != nullptr) {
      BECK_ASSERT(choices < std::size(passed), "a path passes more captures than a pattern has");
      passed[choices++] = {at, consumed, captures, false};
    }
    if (consumed == path.size()) {
      to.found = at->here.get();
      to.count = captures;
      if (to.found != nullptr) return;
    } else if (const std::uint32_t next = at->child_of(path[consumed]); next != 0) {
      const std::string_view more = std::string_view(nodes_[next].text).substr(1);
      if (path.substr(consumed + 1, more.size()) == more) {
        consumed += 1 + more.size();
        at = &nodes_[next];
        continue;
      }
    }
    for (at = nullptr; at == nullptr; --choices) {
      if (choices == 0) return;
      choice& last = passed[choices - 1];
      BECK_ASSERT(last.captures < to.captures.size(), "a route with more captures than are kept");
      const std::size_t end = std::min(path.find('/', last.consumed), path.size());
      captures = last.captures + 1;
      if (!last.any_tried && last.at->any != 0 && end != last.consumed) {
        to.captures[last.captures] = path.substr(last.consumed, end - last.consumed);
        last.any_tried = true;
        consumed = end;
        at = &nodes_[last.at->any];
        break;
      }
      if (last.at->rest != nullptr) {
        to.found = last.at->rest.get();
        to.captures[last.captures] = path.substr(last.consumed);
        to.count = captures;
        to.below = path.substr(last.consumed - 1);
        return;
      }
    }
  }
}

}  // namespace beck::http::detail
