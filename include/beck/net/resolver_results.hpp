// SPDX-License-Identifier: BSL-1.0
// What a lookup gives: a range of endpoints, each with the names that were asked for. Copies share
// one block of memory, which never changes.
#pragma once

#include <beck/detail/fixed_text.hpp>
#include <beck/net/ip_endpoint.hpp>
#include <cstddef>
#include <utility>

namespace beck::ip {

/// Addresses and the two names that they have in common. A value; copies may be used on any thread.
class name_answer {
 public:
  static constexpr std::size_t host_bytes_max = 255;
  static constexpr std::size_t service_bytes_max = 32;

  name_answer() noexcept = default;
  /// Throws std::bad_alloc.
  name_answer(const socket_address* addresses, std::size_t count, detail::text_view host,
              detail::text_view service);
  name_answer(const name_answer& other) noexcept;
  name_answer(name_answer&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  name_answer& operator=(name_answer other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~name_answer();

  std::size_t size() const noexcept;
  /// Requires at < size().
  const socket_address& address(std::size_t at) const noexcept;
  detail::text_view host() const noexcept;
  detail::text_view service() const noexcept;

 private:
  struct block;
  block* block_ = nullptr;
};

/// One result. A value.
template <class Protocol>
class basic_resolver_entry {
 public:
  using protocol_type = Protocol;
  using endpoint_type = typename Protocol::endpoint;
  basic_resolver_entry() noexcept = default;
  basic_resolver_entry(const name_answer& answer, std::size_t at) noexcept
      : endpoint_(answer.address(at)), answer_(answer) {}

  endpoint_type endpoint() const noexcept { return endpoint_; }
  operator endpoint_type() const noexcept { return endpoint_; }
  /// As it was asked for; with resolver_base::canonical_name, or asked for by an endpoint, what the
  /// host calls itself. Converts to std::string by itself.
  detail::fixed_text<name_answer::host_bytes_max> host_name() const noexcept {
    return detail::fixed_text<name_answer::host_bytes_max>(answer_.host());
  }
  detail::fixed_text<name_answer::service_bytes_max> service_name() const noexcept {
    return detail::fixed_text<name_answer::service_bytes_max>(answer_.service());
  }

 private:
  endpoint_type endpoint_;
  name_answer answer_;
};

/// A range of basic_resolver_entry, in the order in which they should be tried.
template <class Protocol>
class basic_resolver_results {
 public:
  using protocol_type = Protocol;
  using endpoint_type = typename Protocol::endpoint;
  using value_type = basic_resolver_entry<Protocol>;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;

  /// Gives its elements by value. Shares their memory: valid also without the results.
  class iterator {
   public:
    using value_type = basic_resolver_entry<Protocol>;
    using difference_type = std::ptrdiff_t;
    using reference = value_type;
    /// Keeps what operator-> points to.
    class pointer {
     public:
      explicit pointer(value_type entry) noexcept : entry_(static_cast<value_type&&>(entry)) {}
      const value_type* operator->() const noexcept { return &entry_; }

     private:
      value_type entry_;
    };

    iterator() noexcept = default;
    value_type operator*() const noexcept { return value_type(answer_, at_); }
    pointer operator->() const noexcept { return pointer(**this); }
    iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
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
  using const_iterator = iterator;

  basic_resolver_results() noexcept = default;
  explicit basic_resolver_results(name_answer answer) noexcept
      : answer_(static_cast<name_answer&&>(answer)) {}
  /// Results without a lookup. Throws std::bad_alloc.
  static basic_resolver_results create(const endpoint_type& endpoint, detail::text_view host,
                                       detail::text_view service) {
    return basic_resolver_results(name_answer(&endpoint, 1, host, service));
  }

  iterator begin() const noexcept { return iterator(answer_, 0); }
  iterator end() const noexcept { return iterator(answer_, size()); }
  std::size_t size() const noexcept { return answer_.size(); }
  bool empty() const noexcept { return size() == 0; }

 private:
  name_answer answer_;
};

}  // namespace beck::ip
