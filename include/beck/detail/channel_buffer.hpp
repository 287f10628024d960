// SPDX-License-Identifier: BSL-1.0
// The storage of a channel: the values of one send together, and a ring of those. The ring grows to
// the largest number of items that was ever in it, so in steady state nothing is allocated.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace beck::detail {

/// Several values, which are passed to a function as its arguments.
template <class... T>
class value_pack;

template <>
class value_pack<> {
 public:
  template <class F, class... Before>
  decltype(auto) give(F&& f, Before&&... before) {
    return static_cast<F&&>(f)(static_cast<Before&&>(before)...);
  }
};

template <class T, class... Rest>
class value_pack<T, Rest...> {
 public:
  template <class U, class... V>
    requires(sizeof...(V) == sizeof...(Rest) && !std::is_same_v<std::remove_cvref_t<U>, value_pack>)
  explicit value_pack(U&& first, V&&... rest)
      : first_(static_cast<U&&>(first)), rest_(static_cast<V&&>(rest)...) {}

  /// Calls `f` with all values, as rvalues.
  template <class F, class... Before>
  decltype(auto) give(F&& f, Before&&... before) {
    return rest_.give(static_cast<F&&>(f), static_cast<Before&&>(before)...,
                      static_cast<T&&>(first_));
  }

 private:
  T first_;
  [[no_unique_address]] value_pack<Rest...> rest_;
};

/// An item that was taken out of a channel and not yet passed on.
template <class Item>
class kept_item {
 public:
  kept_item() noexcept : none_() {}
  kept_item(const kept_item&) = delete;
  kept_item& operator=(const kept_item&) = delete;
  ~kept_item() {
    if (full_) item_.~Item();
  }
  void keep(Item&& item) noexcept {
    ::new (static_cast<void*>(&item_)) Item(static_cast<Item&&>(item));
    full_ = true;
  }
  Item* get() noexcept { return full_ ? &item_ : nullptr; }

 private:
  union {
    char none_;
    Item item_;
  };
  bool full_ = false;
};

/// A queue, first in, first out. One thread at a time.
template <class Item>
class item_ring {
  static_assert(std::is_nothrow_move_constructible_v<Item>,
                "a channel's values must be movable without throwing");

 public:
  item_ring() noexcept = default;
  item_ring(const item_ring&) = delete;
  item_ring& operator=(const item_ring&) = delete;
  ~item_ring() {
    while (count_ != 0) pop_front();
    release();
  }

  bool empty() const noexcept { return count_ == 0; }
  std::size_t size() const noexcept { return count_; }
  Item& front() noexcept { return *place(first_); }

  /// Makes room for `items` items. Throws std::bad_alloc; nothing has changed then.
  void reserve(std::size_t items) {
    if (items > places_) grow(items);
  }
  /// Makes room for `items` items. Returns false if there is no memory.
  bool try_reserve(std::size_t items) noexcept {
    try {
      reserve(items);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  template <class... U>
  void push_back(U&&... values) {
    reserve(count_ + 1);
    ::new (static_cast<void*>(place(first_ + count_))) Item(static_cast<U&&>(values)...);
    ++count_;
  }
  void pop_front() noexcept {
    place(first_)->~Item();
    ++first_;
    --count_;
  }

 private:
  Item* place(std::size_t index) const noexcept { return items_ + (index & (places_ - 1)); }

  void grow(std::size_t items) {
    std::size_t places = places_ == 0 ? 4 : places_;
    while (places < items) {
      if (places > static_cast<std::size_t>(-1) / 2 / sizeof(Item)) throw std::bad_alloc();
      places *= 2;
    }
    auto* const larger =
        static_cast<Item*>(::operator new(places * sizeof(Item), std::align_val_t(alignof(Item))));
    for (std::size_t i = 0; i < count_; ++i) {
      Item* const from = place(first_ + i);
      ::new (static_cast<void*>(larger + i)) Item(static_cast<Item&&>(*from));
      from->~Item();
    }
    release();
    items_ = larger;
    places_ = places;
    first_ = 0;
  }
  void release() noexcept {
    if (items_ != nullptr) ::operator delete(items_, std::align_val_t(alignof(Item)));
  }

  Item* items_ = nullptr;
  std::size_t places_ = 0;  // a power of two, or none
  std::size_t first_ = 0;   // counts up; its low bits are the index
  std::size_t count_ = 0;
};

}  // namespace beck::detail
