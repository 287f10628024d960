// SPDX-License-Identifier: BSL-1.0
// The result of a lookup: a range of endpoints, each with the names that were looked up. Copies
// share one block of memory, which never changes.
#pragma once

#include <beck/net/ip_endpoint.hpp>
#include <cstddef>
#include <new>
#include <string>  // lint: allow heavy-header, error.hpp has it already
#include <string_view>
#include <utility>

namespace beck::ip {

/// For the library: addresses, the two names that they have in common, and room for the entries
/// that a range of one protocol makes of them. A value; copies may be used on any thread.
class name_answer {
 public:
  /// The most bytes of a host name.
  static constexpr std::size_t host_bytes_max = 255;
  /// The most bytes of a service name.
  static constexpr std::size_t service_bytes_max = 32;
  /// The room for an entry.
  static constexpr std::size_t entry_bytes = sizeof(socket_address) + sizeof(void*);

  /// Makes an empty answer.
  name_answer() noexcept = default;
  /// Copies `count` addresses and the names. Throws std::bad_alloc.
  name_answer(const socket_address* addresses, std::size_t count, std::string_view host,
              std::string_view service);
  name_answer(const name_answer& other) noexcept;
  name_answer(name_answer&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  /// Takes over `other`.
  name_answer& operator=(name_answer other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~name_answer();
  /// Returns one that does not count: for an entry in the shared memory, which is never destroyed
  /// but goes with the memory.
  name_answer uncounted() const noexcept {
    name_answer inner;
    inner.block_ = block_;
    return inner;
  }

  /// Returns the number of addresses.
  std::size_t size() const noexcept;
  /// Returns an address. Requires at < size(), asserted.
  const socket_address& address(std::size_t at) const noexcept;
  /// Returns the host name.
  std::string_view host() const noexcept;
  /// Returns the service name.
  std::string_view service() const noexcept;
  /// Returns the place of entry `at`. Requires at < size(), asserted.
  void* entry_place(std::size_t at) const noexcept;

 private:
  struct block;
  block* block_ = nullptr;
};

/// One result of a lookup. A value.
template <class Protocol>
class basic_resolver_entry {
 public:
  /// The protocol.
  using protocol_type = Protocol;
  /// The type of the endpoints.
  using endpoint_type = typename Protocol::endpoint;
  /// Makes an entry with a default endpoint and without names.
  basic_resolver_entry() noexcept = default;
  /// Makes an entry without a lookup. Throws std::bad_alloc.
  basic_resolver_entry(const endpoint_type& endpoint, std::string_view host,
                       std::string_view service)
      : endpoint_(endpoint), answer_(nullptr, 0, host, service) {}
  /// For the library: entry `at` of `answer`.
  basic_resolver_entry(name_answer answer, std::size_t at) noexcept
      : endpoint_(answer.address(at)), answer_(static_cast<name_answer&&>(answer)) {}

  /// Returns the endpoint.
  endpoint_type endpoint() const noexcept { return endpoint_; }
  /// Converts to the endpoint.
  operator endpoint_type() const noexcept { return endpoint_; }
  /// Returns the host name that was looked up; with resolver_base::canonical_name, or if an
  /// endpoint was looked up, the canonical name of the host. Throws std::bad_alloc.
  std::string host_name() const { return std::string(answer_.host()); }
  /// As above, in a string with `allocator`.
  template <class Allocator>
  auto host_name(const Allocator& allocator) const {
    return string_with(answer_.host(), allocator);
  }
  /// Returns the service name that was looked up, or that of the endpoint. Throws
  /// std::bad_alloc.
  std::string service_name() const { return std::string(answer_.service()); }
  /// As above, in a string with `allocator`.
  template <class Allocator>
  auto service_name(const Allocator& allocator) const {
    return string_with(answer_.service(), allocator);
  }

 private:
  template <class Allocator>
  static auto string_with(std::string_view text, const Allocator& allocator) {
    return std::basic_string<char, std::char_traits<char>, Allocator>(text, allocator);
  }

  endpoint_type endpoint_;
  name_answer answer_;
};

/// The results of a lookup: a range of basic_resolver_entry, in the order in which they should be
/// tried. A value; copies may be used on any thread.
template <class Protocol>
class basic_resolver_results {
 public:
  /// The protocol.
  using protocol_type = Protocol;
  /// The type of the endpoints.
  using endpoint_type = typename Protocol::endpoint;
  /// The type of the elements.
  using value_type = basic_resolver_entry<Protocol>;
  /// The type of size().
  using size_type = std::size_t;
  /// For iterators.
  using difference_type = std::ptrdiff_t;

  /// A forward iterator. Shares the memory of the elements: stays valid without the results.
  class iterator {
   public:
    /// The type of the elements.
    using value_type = basic_resolver_entry<Protocol>;
    /// Required of iterators.
    using difference_type = std::ptrdiff_t;
    /// The result of operator*. Valid as long as a copy of the results, or an iterator.
    using reference = const value_type&;
    /// The result of operator->. Valid likewise.
    using pointer = const value_type*;

    /// Makes an iterator without a range.
    iterator() noexcept = default;
    /// Returns the element.
    reference operator*() const noexcept { return *operator->(); }
    /// Accesses the element's members.
    pointer operator->() const noexcept {
      return std::launder(static_cast<pointer>(answer_.entry_place(at_)));
    }
    /// Moves to the next element.
    iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
    /// Moves to the next element; returns the iterator before.
    iterator operator++(int) noexcept {
      iterator before(*this);
      ++at_;
      return before;
    }
    friend bool operator==(const iterator& a, const iterator& b) noexcept { return a.at_ == b.at_; }

   private:
    friend class basic_resolver_results;
    iterator(const name_answer& answer, std::size_t at) noexcept : answer_(answer), at_(at) {}

    name_answer answer_;
    std::size_t at_ = 0;
  };
  /// The elements are never modified.
  using const_iterator = iterator;

  /// Makes an empty range.
  basic_resolver_results() noexcept = default;
  /// For the library: writes the entries of `answer`, of which no other results were made.
  explicit basic_resolver_results(name_answer answer) noexcept
      : answer_(static_cast<name_answer&&>(answer)) {
    static_assert(sizeof(value_type) <= name_answer::entry_bytes);
    for (std::size_t i = 0; i < size(); ++i) {
      ::new (answer_.entry_place(i)) value_type(answer_.uncounted(), i);
    }
  }
  /// Returns results without a lookup: one entry. Throws std::bad_alloc.
  static basic_resolver_results create(const endpoint_type& endpoint, std::string_view host,
                                       std::string_view service) {
    return basic_resolver_results(name_answer(&endpoint, 1, host, service));
  }

  /// Returns an iterator to the first entry.
  iterator begin() const noexcept { return iterator(answer_, 0); }
  /// Returns the iterator behind the last entry.
  iterator end() const noexcept { return iterator(answer_, size()); }
  /// As begin().
  iterator cbegin() const noexcept { return begin(); }
  /// As end().
  iterator cend() const noexcept { return end(); }
  /// Returns the number of entries.
  std::size_t size() const noexcept { return answer_.size(); }
  /// Returns whether there are no entries.
  bool empty() const noexcept { return size() == 0; }

 private:
  name_answer answer_;
};

}  // namespace beck::ip
