// SPDX-License-Identifier: BSL-1.0
// Addresses of IP one after another: an iterator and a range of each family.
#pragma once

#include <cstddef>
#include <iterator>

#include <beck/asio/address.hpp>
#include <beck/asio/config.hpp>

BECK_ASIO_BEGIN

namespace ip {

/// An iterator over addresses in ascending order. Behind the highest address is the lowest. A
/// value; any thread.
template <class Address>
class basic_address_iterator {
 public:
  using value_type = Address;
  using difference_type = std::ptrdiff_t;
  using pointer = const Address*;
  using reference = const Address&;
  using iterator_category = std::input_iterator_tag;

  /// Refers to 0.0.0.0 or ::.
  basic_address_iterator() noexcept = default;
  /// Refers to `address`.
  explicit basic_address_iterator(const Address& address) noexcept : address_(address) {}

  reference operator*() const noexcept { return address_; }
  pointer operator->() const noexcept { return &address_; }

  basic_address_iterator& operator++() noexcept { return step(1, 0); }
  basic_address_iterator& operator--() noexcept { return step(0xff, 0xff); }
  basic_address_iterator operator++(int) noexcept {
    const basic_address_iterator before = *this;
    ++*this;
    return before;
  }
  basic_address_iterator operator--(int) noexcept {
    const basic_address_iterator before = *this;
    --*this;
    return before;
  }
  friend bool operator==(const basic_address_iterator&,
                         const basic_address_iterator&) noexcept = default;

 private:
  /// Adds `change` to the last byte, and to the one before it while the sum is `carry`: 0 after an
  /// increment, 0xff after a decrement.
  basic_address_iterator& step(unsigned change, unsigned char carry) noexcept {
    typename Address::bytes_type bytes = address_.to_bytes();
    for (std::size_t i = bytes.size(); i-- > 0;) {
      bytes[i] = static_cast<unsigned char>(bytes[i] + change);
      if (bytes[i] != carry) break;
    }
    if constexpr (requires { address_.scope_id(); }) {
      address_ = Address(bytes, address_.scope_id());
    } else {
      address_ = Address(bytes);
    }
    return *this;
  }

  Address address_;
};

/// The addresses from one on to before another. A value; any thread.
template <class Address>
class basic_address_range {
 public:
  using iterator = basic_address_iterator<Address>;

  /// Makes an empty range.
  basic_address_range() noexcept = default;
  /// Makes the range from `first` to before `last`.
  explicit basic_address_range(const iterator& first, const iterator& last) noexcept
      : begin_(first), end_(last) {}
  /// As above. Requires first <= last.
  explicit basic_address_range(const Address& first, const Address& last) noexcept
      : begin_(first), end_(last) {}

  iterator begin() const noexcept { return begin_; }
  iterator end() const noexcept { return end_; }
  /// Returns whether there is no address.
  bool empty() const noexcept { return begin_ == end_; }
  /// Returns the number of addresses.
  std::size_t size() const noexcept
    requires requires(const Address& address) { address.to_uint(); }
  {
    return end_->to_uint() - begin_->to_uint();
  }
  /// Returns an iterator that refers to `address`, or end() if the range has not got it.
  iterator find(const Address& address) const noexcept {
    return address >= *begin_ && address < *end_ ? iterator(address) : end_;
  }

 private:
  iterator begin_, end_;
};

using address_v4_iterator = basic_address_iterator<address_v4>;
using address_v6_iterator = basic_address_iterator<address_v6>;
using address_v4_range = basic_address_range<address_v4>;
using address_v6_range = basic_address_range<address_v6>;

}  // namespace ip

BECK_ASIO_END
