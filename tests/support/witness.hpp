// SPDX-License-Identifier: BSL-1.0
// An object that notes its name on destruction, for cases about the order of destruction.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace beck::test {

// Notes its name on destruction.
class witness {
 public:
  witness(std::vector<std::string>& log, std::string name) : log_(&log), name_(std::move(name)) {}
  witness(witness&& other) noexcept
      : log_(std::exchange(other.log_, nullptr)), name_(std::move(other.name_)) {}
  witness& operator=(witness&&) = delete;
  ~witness() {
    if (log_ != nullptr) log_->push_back(name_);
  }

 private:
  std::vector<std::string>* log_;
  std::string name_;
};

}  // namespace beck::test
