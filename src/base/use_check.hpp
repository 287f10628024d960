// SPDX-License-Identifier: BSL-1.0
// Checks that a program uses the library correctly: two threads inside one object, and user code
// that is called under a lock of the library. With NDEBUG there are none.
#pragma once

#include <atomic>

#include <beck/base/assert.hpp>

// Debug builds detect that the library calls user code while the calling thread holds a spin lock:
// user code may do anything, and so must run without locks. Each thread counts the locks that it
// holds. With NDEBUG the functions are empty.
namespace beck::detail {

#ifdef NDEBUG

struct held_locks {
  static void taken() noexcept {}
  static void given_back() noexcept {}
  static void must_be_none() noexcept {}
};

#else

/// Of each thread: the spin locks that it holds, and the library_use objects that exempt it from
/// the check below. One word, because thread-local data is scarce (base/thread_store.hpp).
struct thread_checks {
  int locks = 0;
  int exemptions = 0;
};
inline constinit thread_local thread_checks checks_of_thread;

struct held_locks {
  static void taken() noexcept { ++checks_of_thread.locks; }
  static void given_back() noexcept { --checks_of_thread.locks; }
  static void must_be_none() noexcept {
    BECK_ASSERT(checks_of_thread.locks == 0,
                "code that the library does not know is called under a spin lock");
  }
};

#endif

}  // namespace beck::detail

// Debug builds detect that two threads use one object at once. An object carries a mark with the
// thread that is inside one of its functions; a second thread that enters ends the program with a
// message that names both functions. The mark is relaxed, so that it hides no race from a
// sanitizer. With NDEBUG the classes are empty.
#ifdef NDEBUG

namespace beck::detail {

struct use_mark {};

class [[maybe_unused]] object_use {
 public:
  enum class kind : bool { alone, beside_others };
  object_use(use_mark*, const char*, const int*, const char*, kind = kind::alone) noexcept {}
  void leave() noexcept {}
};

class [[maybe_unused]] library_use {
 public:
  library_use() noexcept {}
};

}  // namespace beck::detail

#else

namespace beck::detail {

struct use_mark {
  /// The kernel's id of the thread that is inside, negated if other threads may be inside too; 0 if
  /// there is none.
  std::atomic<int> user{0};
  std::atomic<const char*> function{nullptr};
};

/// Lives as long as a thread is inside a function of an object. Its constructor ends the program if
/// another thread is inside too, unless both are in functions that may run concurrently
/// (synchronous transfers). A thread may be inside twice.
class object_use {
 public:
  enum class kind : bool { alone, beside_others };

  /// Marks the object as used by the calling thread. `object` and `fd` (nullptr: it has no
  /// descriptor) name it in the message. `mark` is nullptr for objects that many threads share,
  /// which are not checked.
  object_use(use_mark* mark, const char* object, const int* fd, const char* function,
             kind how = kind::alone) noexcept;
  ~object_use() { leave(); }
  /// Ends the use early: the caller is about to do what lets another thread use the object.
  void leave() noexcept;
  object_use(const object_use&) = delete;
  object_use& operator=(const object_use&) = delete;

 private:
  use_mark* mark_;  // nullptr: not checked, or set by a thread that entered before
};

/// Exempts the calling thread from the check for its lifetime: the library continues an operation
/// that the program started before, so this thread is not a user of the operation's object.
class library_use {
 public:
  library_use() noexcept { ++checks_of_thread.exemptions; }
  ~library_use() { --checks_of_thread.exemptions; }
  library_use(const library_use&) = delete;
  library_use& operator=(const library_use&) = delete;
};

}  // namespace beck::detail

#endif
