// SPDX-License-Identifier: BSL-1.0
// The routes of a router as a tree of texts, in which common prefixes are shared, and the search in
// it. Without I/O.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <beck/detail/ref_count.hpp>
#include <beck/http/handler.hpp>
#include <beck/http/method.hpp>
#include <beck/http/router.hpp>

namespace beck::http::detail {

/// A handler and the pattern that leads to it. Owns the handler.
struct route {
  route(void* owned, const handler_table& of, const route_options& how = {}) noexcept
      : table(of),
        handler(owned),
        body_bytes(how.body_bytes),
        waits_for_events(how.waits_for_events),
        handler_timeout(how.handler_timeout) {
    std::copy(std::begin(how.values), std::end(how.values), values.begin());
  }
  ~route() { table.destroy(handler); }
  route(const route&) = delete;
  route& operator=(const route&) = delete;

  std::string pattern;
  std::vector<std::string> names;  ///< of the captures, in their order
  const handler_table& table;
  void* handler;
  std::uint64_t body_bytes;  ///< 0: the limit of the server
  bool waits_for_events;
  duration handler_timeout;  ///< 0: no limit
  std::array<route_value, route_options::values_max> values;
};

/// The routes of one pattern.
struct resource {
  static constexpr std::size_t methods = static_cast<std::size_t>(method::patch) + 1;

  /// Returns the route of a method; nullptr if there is none.
  const route* find(method m) const noexcept;

  std::array<const route*, methods> of_method{};
  const route* of_all = nullptr;
  std::string allow;  ///< the value of an Allow field; empty if all methods have a route
};

/// The result of a search.
struct route_search {
  static constexpr std::size_t captures_max = 8;

  const resource* found = nullptr;
  std::size_t count = 0;  ///< of the captures
  std::array<std::string_view, captures_max> captures;
  std::string_view below;  ///< the rest of the path with its "/"; empty if nothing follows
};

/// A radix tree of patterns, and what is around all of them. Thread: one that adds, or any number
/// that search.
class route_table {
 public:
  route_table() = default;
  ~route_table();
  route_table(const route_table&) = delete;
  route_table& operator=(const route_table&) = delete;

  static constexpr std::size_t pattern_bytes_max = 1024;
  static constexpr std::size_t segments_max = 32;

  /// Adds a route for a method. Throws as router::route(); then no route was added.
  void add(method m, std::string_view pattern, std::unique_ptr<route> made);
  /// Adds a route for all methods at `prefix` and below. Throws as router::mount(); then no route
  /// was added.
  void mount(std::string_view prefix, std::unique_ptr<route> made);
  /// Finds the resource of a decoded path, which begins with "/". Never allocates. Visits a node at
  /// most once, even if several paths lead to it.
  void find(std::string_view path, route_search& to) const noexcept;

  /// Sets the route for paths that no pattern matches. Throws as router::otherwise().
  void set_otherwise(std::unique_ptr<route> made);
  const route* otherwise() const noexcept { return otherwise_.get(); }
  /// Adds middlewares around everything. Destroys them if it throws, as router::use().
  void add_layer(const layer& made);
  std::vector<layer>& layers() noexcept { return layers_; }
  /// Notes that a request is served: nothing may be added from now on.
  /// Relaxed, as the reads: it is a check for mistakes, and orders nothing.
  void note_served() noexcept {
    if (!is_served_.load(std::memory_order_relaxed))
      is_served_.store(true, std::memory_order_relaxed);
  }

  beck::detail::ref_count holders;

 private:
  struct node {
    std::string text;   // the text before this node; empty after `{name}`
    std::string first;  // the first bytes of the texts of its children
    std::vector<std::uint32_t> children;
    std::uint32_t any = 0;           // the node after `{name}`; 0: none
    std::unique_ptr<resource> here;  // for paths that end here
    std::unique_ptr<resource> rest;  // for all longer paths

    /// Returns the child whose text begins with `c`; 0 if there is none.
    std::uint32_t child_of(char c) const noexcept {
      for (std::size_t i = 0; i < first.size(); ++i)
        if (first[i] == c) return children[i];
      return 0;
    }
  };

  std::uint32_t add_node(std::string_view text);
  std::uint32_t follow(std::uint32_t at, std::string_view text);
  std::uint32_t follow_any(std::uint32_t at);
  void split(std::uint32_t at, std::size_t bytes);
  std::uint32_t reach(std::string_view pattern, route& made, bool& takes_rest);
  resource& place(std::string_view pattern, route& made);
  void require_unserved() const;

  std::vector<std::unique_ptr<route>> routes_;
  std::vector<node> nodes_ = std::vector<node>(1);  // the first is the root
  std::unique_ptr<route> otherwise_;
  std::vector<layer> layers_;
  std::atomic<bool> is_served_{false};
};

}  // namespace beck::http::detail
