// SPDX-License-Identifier: BSL-1.0
//
// Lists that allocate nothing, because each element contains its links: operations, tasks and
// waiters are queued in these. intrusive_list is doubly linked and an element can leave from the
// middle; intrusive_queue is a FIFO over one pointer. Neither owns its elements.
#pragma once

#include <beck/base/assert.hpp>
#include <cstddef>

namespace beck::detail {

template <class T, auto Hook>
class intrusive_list;

/// The member through which an intrusive_list links an element. Its destructor takes the element
/// out of the list. Not movable: the neighbours point at it.
class list_hook {
 public:
  constexpr list_hook() noexcept = default;
  list_hook(const list_hook&) = delete;
  list_hook& operator=(const list_hook&) = delete;
  ~list_hook() { unlink(); }

  /// Returns whether the element is in a list.
  constexpr bool is_linked() const noexcept { return next_ != nullptr; }

  /// Takes the element out of its list, in constant time; does nothing outside of a list.
  void unlink() noexcept {
    if (next_ == nullptr) return;
    previous_->next_ = next_;
    next_->previous_ = previous_;
    next_ = previous_ = nullptr;
  }

 private:
  template <class T, auto Hook>
  friend class intrusive_list;

  void link_before(list_hook& position) noexcept {
    next_ = &position;
    previous_ = position.previous_;
    previous_->next_ = this;
    position.previous_ = this;
  }

  list_hook* next_ = nullptr;
  list_hook* previous_ = nullptr;
};

/// A list of T over its member `Hook` (`intrusive_list<waiter, &waiter::hook>`). Every operation
/// takes constant time, except clear() and iteration. An element is in at most one list per hook.
/// Must be empty when destroyed. One thread at a time.
template <class T, auto Hook>
class intrusive_list {
 public:
  /// A forward iterator, which stays valid while its element stays in the list.
  class iterator {
   public:
    iterator() noexcept : at_(nullptr) {}  // of no list
    T& operator*() const noexcept { return *owner(at_); }
    T* operator->() const noexcept { return owner(at_); }
    iterator& operator++() noexcept {
      at_ = at_->next_;
      return *this;
    }
    bool operator==(const iterator&) const noexcept = default;

   private:
    friend class intrusive_list;
    explicit iterator(list_hook* at) noexcept : at_(at) {}
    list_hook* at_;
  };

  intrusive_list() noexcept { root_.next_ = root_.previous_ = &root_; }
  ~intrusive_list() {
    BECK_ASSERT(empty(), "an intrusive_list was destroyed while it had elements");
    root_.next_ = root_.previous_ = nullptr;
  }

  bool empty() const noexcept { return root_.next_ == &root_; }
  /// Returns the first element, or nullptr if the list is empty.
  T* front() const noexcept { return empty() ? nullptr : owner(root_.next_); }
  /// Returns the last element, or nullptr if the list is empty.
  T* back() noexcept { return empty() ? nullptr : owner(root_.previous_); }

  /// Returns the element behind `element`, or nullptr if that is the last one. Requires an element
  /// that is in this list.
  T* after(T& element) noexcept {
    list_hook* const next = (element.*Hook).next_;
    return next == &root_ ? nullptr : owner(next);
  }

  iterator begin() noexcept { return iterator(root_.next_); }
  iterator end() noexcept { return iterator(&root_); }

  /// Appends an element. Requires that it is in no list through this hook.
  void push_back(T& element) noexcept { insert(root_, element); }
  /// Inserts an element at the front. Requires that it is in no list through this hook.
  void push_front(T& element) noexcept { insert(*root_.next_, element); }

  /// Takes the first element out and returns it; nullptr if there is none.
  T* pop_front() noexcept {
    T* const first = front();
    if (first != nullptr) (first->*Hook).unlink();
    return first;
  }

  /// Takes an element out. Requires that it is in this list; only that it is in some list is
  /// checked.
  void erase(T& element) noexcept {
    BECK_ASSERT((element.*Hook).is_linked(), "an element was erased that is in no list");
    (element.*Hook).unlink();
  }

  /// Appends all elements of `other`, which is empty afterwards.
  void splice_back(intrusive_list& other) noexcept {
    BECK_ASSERT(&other != this, "a list was appended to itself");
    if (other.empty()) return;
    list_hook* const first = other.root_.next_;
    list_hook* const last = other.root_.previous_;
    other.root_.next_ = other.root_.previous_ = &other.root_;
    first->previous_ = root_.previous_;
    root_.previous_->next_ = first;
    last->next_ = &root_;
    root_.previous_ = last;
  }

  /// Takes all elements out, one by one.
  void clear() noexcept {
    while (!empty()) root_.next_->unlink();
  }

 private:
  static void insert(list_hook& position, T& element) noexcept {
    BECK_ASSERT(!(element.*Hook).is_linked(), "an element was added that is in a list already");
    (element.*Hook).link_before(position);
  }

  static T* owner(list_hook* hook) noexcept { return static_cast<T*>(holder(hook, Hook)); }

  // The hook may be a member of a base of T.
  template <class Holder>
  static Holder* holder(list_hook* hook, list_hook Holder::* member) noexcept {
    // A pointer to a data member is its offset (Itanium C++ ABI, 2.3), on every target of Linux.
    static_assert(sizeof(member) == sizeof(std::ptrdiff_t));
    return reinterpret_cast<Holder*>(reinterpret_cast<char*>(hook) -
                                     __builtin_bit_cast(std::ptrdiff_t, member));
  }

  list_hook root_;
};

/// A FIFO of T over a member `T* next` (`intrusive_queue<work, &work::next>`). Every operation
/// takes constant time. The pointer of an element outside of a queue is null, and is null again
/// after pop_front(). Must be empty when destroyed. One thread at a time.
template <class T, auto Next>
class intrusive_queue {
 public:
  constexpr intrusive_queue() noexcept = default;
  /// Takes all elements of `other`.
  intrusive_queue(intrusive_queue&& other) noexcept { splice_back(other); }
  intrusive_queue& operator=(intrusive_queue&&) = delete;
  ~intrusive_queue() {
    BECK_ASSERT(empty(), "an intrusive_queue was destroyed while it had elements");
  }

  bool empty() const noexcept { return head_ == nullptr; }
  /// Returns the first element, or nullptr if the queue is empty.
  T* front() const noexcept { return head_; }

  /// Appends an element. Requires that it is in no queue through this member; that is checked,
  /// except for the last element of another queue.
  void push_back(T& element) noexcept {
    check_free(element);
    if (head_ == nullptr) {
      head_ = &element;
    } else {
      tail_->*Next = &element;
    }
    tail_ = &element;
  }
  /// Inserts an element at the front. Requires that it is in no queue through this member.
  void push_front(T& element) noexcept {
    check_free(element);
    if (head_ == nullptr) tail_ = &element;
    element.*Next = head_;
    head_ = &element;
  }

  /// Takes the first element out and returns it; nullptr if there is none.
  T* pop_front() noexcept {
    T* const first = head_;
    if (first == nullptr) return nullptr;
    head_ = first->*Next;
    first->*Next = nullptr;
    if (head_ == nullptr) tail_ = nullptr;
    return first;
  }

  /// Appends all elements of `other`, which is empty afterwards.
  void splice_back(intrusive_queue& other) noexcept {
    BECK_ASSERT(&other != this, "a queue was appended to itself");
    if (other.head_ == nullptr) return;
    if (head_ == nullptr) {
      head_ = other.head_;
    } else {
      tail_->*Next = other.head_;
    }
    tail_ = other.tail_;
    other.head_ = other.tail_ = nullptr;
  }

 private:
  void check_free(T& element) const noexcept {
    BECK_ASSERT(element.*Next == nullptr && &element != tail_,
                "an element was added that is in a queue already");
  }

  T* head_ = nullptr;
  T* tail_ = nullptr;
};

}  // namespace beck::detail
