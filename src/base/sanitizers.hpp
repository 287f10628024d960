// SPDX-License-Identifier: BSL-1.0
// Detects the sanitizer of the build, which happens only here, and annotates memory that the kernel
// writes or passes on. TSan does not see the order that a ring provides, so an operation is
// released when its entry is written and acquired when its completion is taken.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define BECK_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BECK_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define BECK_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BECK_THREAD_SANITIZER 1
#endif
#endif

#if defined(BECK_ADDRESS_SANITIZER)
extern "C" void __asan_poison_memory_region(void const volatile* address, std::size_t bytes);
extern "C" int __asan_address_is_poisoned(void const volatile* address);
extern "C" void __asan_unpoison_memory_region(void const volatile* address, std::size_t bytes);
#endif
#if defined(BECK_THREAD_SANITIZER)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace beck::detail {

#if defined(BECK_ADDRESS_SANITIZER)
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif

#if defined(BECK_THREAD_SANITIZER)
inline constexpr bool thread_sanitizer = true;
#else
inline constexpr bool thread_sanitizer = false;
#endif

/// Tells TSan that the memory at `address` is handed to the kernel.
inline void annotate_release([[maybe_unused]] void* address) noexcept {
#if defined(BECK_THREAD_SANITIZER)
  __tsan_release(address);
#endif
}

/// Tells TSan that the kernel has handed the memory at `address` back.
inline void annotate_acquire([[maybe_unused]] void* address) noexcept {
#if defined(BECK_THREAD_SANITIZER)
  __tsan_acquire(address);
#endif
}

/// Tells ASan that the program must not access the memory, because the kernel or a pool has it: an
/// access before annotate_returned() is reported.
inline void annotate_lent([[maybe_unused]] void* address,
                          [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(BECK_ADDRESS_SANITIZER)
  __asan_poison_memory_region(address, bytes);
#endif
}

/// Tells ASan that the memory may be accessed again.
inline void annotate_returned([[maybe_unused]] void* address,
                              [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(BECK_ADDRESS_SANITIZER)
  __asan_unpoison_memory_region(address, bytes);
#endif
}

/// Returns whether the memory at `address` is lent; always false without AddressSanitizer.
inline bool is_lent([[maybe_unused]] const void* address) noexcept {
#if defined(BECK_ADDRESS_SANITIZER)
  return __asan_address_is_poisoned(address) != 0;
#else
  return false;
#endif
}

}  // namespace beck::detail
