// SPDX-License-Identifier: BSL-1.0
// The errors of a race in which every task has failed.
#include <beck/coro/when_range.hpp>

#include <stdexcept>
#include <string>
#include <vector>

#include <beck/base/assert.hpp>
#include <beck/detail/ref_count.hpp>

namespace beck {
using namespace detail;

struct all_failed::shared {
  ref_count holders;
  std::vector<std::exception_ptr> errors;
  std::string text = "all have failed";
  std::size_t expected = 0;

  void describe(const std::exception_ptr& first) noexcept {
    try {
      text = "all " + std::to_string(expected) + " have failed; the first: ";
      std::rethrow_exception(first);
    } catch (const std::exception& e) {
      append(e.what());
    } catch (...) {
      append("an exception of unknown type");
    }
  }

 private:
  void append(const char* words) noexcept {
    try {
      text += words;
    } catch (const std::bad_alloc&) {  // the text stays shorter
    }
  }
};

all_failed::all_failed(std::size_t count) : shared_(new shared) {
  try {
    shared_->errors.reserve(count);
    shared_->expected = count;
  } catch (...) {
    delete shared_;
    throw;
  }
}
all_failed::all_failed(const all_failed& other) noexcept
    : std::exception(other), shared_(other.shared_) {
  shared_->holders.add();
}
all_failed& all_failed::operator=(const all_failed& other) noexcept {
  all_failed copy(other);
  std::swap(shared_, copy.shared_);
  return *this;
}
all_failed::~all_failed() {
  if (shared_->holders.drop()) delete shared_;
}

void all_failed::add(std::exception_ptr error) noexcept {
  BECK_ASSERT(size() < shared_->errors.capacity(),
              "all_failed has more errors than it has room for");
  if (shared_->errors.empty()) shared_->describe(error);
  shared_->errors.push_back(std::move(error));
}

const char* all_failed::what() const noexcept { return shared_->text.c_str(); }
std::size_t all_failed::size() const noexcept { return shared_->errors.size(); }
const std::exception_ptr& all_failed::operator[](std::size_t index) const noexcept {
  BECK_ASSERT(index < size(), "all_failed has no error with this index");
  return shared_->errors[index];
}

void detail::refuse_empty_range(const char* function) {
  throw std::invalid_argument(std::string("beck::") + function +
                              ": there is no task in the range, so none can be the first");
}

}  // namespace beck
