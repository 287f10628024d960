// SPDX-License-Identifier: BSL-1.0
// Objects of one thread that are rarely needed, in a list behind one thread-local pointer.
// Thread-local data of a shared object comes from a small reserve of the process when dlopen(3)
// loads it ("cannot allocate memory in static TLS block"). So the library has only a few words of
// it: those that every operation needs, and this pointer.
#pragma once

namespace beck::detail {

/// One object in the list of its thread.
struct thread_object {
  const void* type;
  void (*destroy)(thread_object* object) noexcept;
  thread_object* next = nullptr;
};

/// Returns the calling thread's object of `type`; nullptr if there is none.
thread_object* find_thread_object(const void* type) noexcept;

/// Adds an object to the list of the calling thread, which destroys it when the thread ends: the
/// last added first. Throws std::bad_alloc, and then leaves the list as it was.
void add_thread_object(thread_object& object);

/// Returns whether the calling thread is ending and has destroyed its objects, if it had any.
bool thread_is_ending() noexcept;

/// The object of type `T` of each thread. `T` is used in one library only.
template <class T>
class of_this_thread {
 public:
  /// Returns the calling thread's object; nullptr if the thread has none yet.
  static T* find() noexcept {
    thread_object* const found = find_thread_object(&type_);
    return found == nullptr ? nullptr : &static_cast<holder*>(found)->value;
  }

  /// Returns the calling thread's object, which the first call makes. A destructor that runs after
  /// the thread's object was destroyed gets a new one, which is destroyed later. Throws
  /// std::bad_alloc, and the exceptions of the constructor.
  static T& get() {
    if (T* const found = find(); found != nullptr) [[likely]]
      return *found;
    auto* const made = new holder;
    try {
      add_thread_object(*made);
    } catch (...) {
      delete made;
      throw;
    }
    return made->value;
  }

 private:
  struct holder : thread_object {
    holder() : thread_object{&type_, &holder::end} {}
    static void end(thread_object* object) noexcept { delete static_cast<holder*>(object); }
    T value;
  };

  static inline constinit char type_ = 0;  // its address identifies the type
};

}  // namespace beck::detail
