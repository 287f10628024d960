// SPDX-License-Identifier: BSL-1.0
// The public face of the shrinker.
#include <beck/testing/shrink.hpp>

#include "testing/check_access.hpp"
#include "testing/shrinker.hpp"

namespace beck::testing::sim {
using namespace detail;

struct shrink_access {
  static std::size_t tries_max(const shrink_options& how) noexcept { return how.tries_max_; }
  static void tell(const shrink_options& how, const shrink_progress& progress) {
    if (how.call_ != nullptr) how.call_(progress, how.data_);
  }
};

namespace {

class callback_judge final : public shrink_judge {
 public:
  callback_judge(bool (*still_fails)(const tape&, void*), void* data, const shrink_options& how,
                 std::size_t choices)
      : still_fails_(still_fails), data_(data), how_(how), choices_before_(choices) {}

  bool fails(sim_tape& candidate) override {
    return still_fails_(tape_access::make(candidate), data_);
  }
  void found(std::size_t tries, const sim_tape& smallest) override {
    shrink_access::tell(how_, {tries, choices_before_, smallest.choices()});
  }

 private:
  bool (*still_fails_)(const tape&, void*);
  void* data_;
  const shrink_options& how_;
  std::size_t choices_before_;
};

}  // namespace

tape shrink_erased(const tape& failing, bool (*still_fails)(const tape&, void*), void* data,
                   const shrink_options& how) {
  callback_judge judge(still_fails, data, how, failing.choices());
  shrinker search(tape_access::draws_of(failing), judge, shrink_access::tries_max(how));
  return tape_access::make(search.run());
}

}  // namespace beck::testing::sim
