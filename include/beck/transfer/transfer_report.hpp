// SPDX-License-Identifier: BSL-1.0
// The mechanisms of the kernel for copies, transmissions of files and relays, and the report at the
// end of a copy or a transmission.
#pragma once

#include <cstdint>
#include <type_traits>

namespace beck {

/// The way the bytes of a file or a stream are moved.
enum class transfer_mechanism : std::uint8_t {
  automatic,   ///< the best one that works for these two; in a report: no bytes were moved
  copy_range,  ///< copy_file_range(2): shares the blocks where the file system can
  send_file,   ///< sendfile(2)
  splice,      ///< splice(2) through a pipe
  read_write,  ///< reads and writes, several blocks of a file at the same time
};

/// Returns the name of `which`: "copy_range", ...
const char* to_string(transfer_mechanism which) noexcept;

/// The result of a copy or a transmission, also after an error.
struct transfer_report {
  std::uint64_t bytes = 0;  ///< from the front on; more bytes after them may have been written
  transfer_mechanism mechanism = transfer_mechanism::automatic;  ///< that was used last
  /// Bytes of transmit_options::prefix that were sent; they are not counted in `bytes`.
  std::uint64_t prefix_bytes = 0;
};

/// As a length: up to the end of the file when the operation starts.
inline constexpr std::uint64_t to_the_end = static_cast<std::uint64_t>(-1);

namespace detail {

/// A function that is called with the progress of a transfer. Does not own it.
template <class Progress>
class progress_sink {
 public:
  constexpr progress_sink() noexcept = default;
  progress_sink(void (*function)(Progress)) noexcept
      : function_(reinterpret_cast<void*>(function)), call_([](void* pointer, Progress progress) {
          reinterpret_cast<void (*)(Progress)>(pointer)(progress);
        }) {}
  template <class Function>
    requires(std::is_class_v<Function> && !std::is_same_v<Function, progress_sink> &&
             std::is_invocable_v<Function&, Progress>)
  constexpr progress_sink(Function& function) noexcept
      : function_(const_cast<void*>(static_cast<const void*>(__builtin_addressof(function)))),
        call_(
            [](void* object, Progress progress) { (*static_cast<Function*>(object))(progress); }) {}

  void tell(Progress progress) const {
    if (call_ != nullptr) call_(function_, progress);
  }

 private:
  void* function_ = nullptr;
  void (*call_)(void*, Progress) = nullptr;
};

}  // namespace detail

}  // namespace beck
