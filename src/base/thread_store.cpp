// SPDX-License-Identifier: BSL-1.0
// The list of a thread's objects. It is registered for the end of the thread when its first object
// is added, in the way in which the compiler registers the destructor of a thread_local object
// (Itanium C++ ABI, 3.3.5.3), but without a guard variable in each thread. It is registered again
// if a later destructor of the thread adds objects.
#include "base/thread_store.hpp"

#include <cxxabi.h>

#include <new>
#include <utility>

// Its address identifies the shared object, or the program, of this code: dlclose(3) keeps that
// loaded until the threads that registered its functions have ended.
// NOLINTNEXTLINE(readability-identifier-naming): the name is the ABI's
extern "C" [[gnu::visibility("hidden")]] void* __dso_handle;

namespace beck::detail {
namespace {

constinit thread_local thread_object* objects [[gnu::tls_model("initial-exec")]] = nullptr;

/// The list of a thread that has destroyed its objects. Never written.
constinit thread_object list_end{&list_end, nullptr, nullptr};

bool is_empty() noexcept { return objects == nullptr || objects == &list_end; }

void end_thread(void*) noexcept {
  while (!is_empty()) {
    thread_object* const last = std::exchange(objects, objects->next);
    last->destroy(last);
  }
  objects = &list_end;
}

}  // namespace

thread_object* find_thread_object(const void* type) noexcept {
  thread_object* object = objects;
  while (object != nullptr && object->type != type) object = object->next;
  return object;
}

void add_thread_object(thread_object& object) {
  if (is_empty() &&
      abi::__cxa_thread_atexit(&end_thread, nullptr, static_cast<void*>(&__dso_handle)) != 0)
    throw std::bad_alloc();
  object.next = std::exchange(objects, &object);
}

bool thread_is_ending() noexcept { return find_thread_object(&list_end) != nullptr; }

}  // namespace beck::detail
