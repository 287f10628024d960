// SPDX-License-Identifier: BSL-1.0
// Checks of a program's use of the library, none of them with NDEBUG: two threads inside one
// object, and user code that is called under a lock of the library.
#pragma once

#include <atomic>

#include <beck/base/assert.hpp>

// Misuse that a debug build detects: code of the user, which may do anything, is called while the
// calling thread holds a spin lock. Each thread counts the locks that it holds. With NDEBUG nothing
// of this is left.
namespace beck::detail {

#ifdef NDEBUG

struct held_locks {
  static void taken() noexcept {}
  static void given_back() noexcept {}
  static void must_be_none() noexcept {}
};

#else

struct held_locks {
  static void taken() noexcept { ++count; }
  static void given_back() noexcept { --count; }
  static void must_be_none() noexcept {
    BECK_ASSERT(count == 0, "code that the library does not know is called under a spin lock");
  }

 private:
  static inline thread_local constinit int count = 0;
};

#endif

}  // namespace beck::detail

// Misuse that a debug build detects: one object used by two threads at once. An object carries a
// mark that says who is inside one of its functions; whoever comes in beside ends the program with
// both places. The mark is relaxed, so that it hides no race from a sanitizer. With NDEBUG nothing
// of this is left.
#ifdef NDEBUG

namespace beck::detail {

struct use_mark {};

class [[maybe_unused]] object_use {
 public:
  enum class kind : bool { alone, beside_others };
  object_use(use_mark*, const char*, const int*, const char*, kind = kind::alone) noexcept {}
};

class [[maybe_unused]] library_use {
 public:
  library_use() noexcept {}
};

}  // namespace beck::detail

#else

namespace beck::detail {

struct use_mark {
  /// Kernel thread id of who is inside, negative if others may be inside too; 0: nobody.
  std::atomic<int> user{0};
  std::atomic<const char*> function{nullptr};
};

/// Lives as long as a thread is inside a function of an object. Ends the program if another thread
/// is inside too, unless both are in functions that may run beside each other (synchronous
/// transfers). A thread may be inside twice.
class object_use {
 public:
  enum class kind : bool { alone, beside_others };

  /// `object` and `fd` (nullptr: it has none) name it in the message. `mark` nullptr: an object
  /// that many share, which is not checked.
  object_use(use_mark* mark, const char* object, const int* fd, const char* function,
             kind how = kind::alone) noexcept;
  ~object_use();
  object_use(const object_use&) = delete;
  object_use& operator=(const object_use&) = delete;

 private:
  friend class library_use;

  static inline thread_local constinit int exempt = 0;

  use_mark* mark_;  // nullptr: somebody who was inside before holds it
};

/// Lives while the library goes on with an operation that the program started before: the thread
/// that does it is not a user of the operation's object.
class library_use {
 public:
  library_use() noexcept { ++object_use::exempt; }
  ~library_use() { --object_use::exempt; }
  library_use(const library_use&) = delete;
  library_use& operator=(const library_use&) = delete;
};

}  // namespace beck::detail

#endif
