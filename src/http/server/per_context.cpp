// SPDX-License-Identifier: BSL-1.0
// The list of the objects of a per_context. It is made before the contexts run; then each context
// changes only its own entry.
#include <beck/http/per_context.hpp>

#include <stdexcept>
#include <utility>

#include <beck/base/assert.hpp>

namespace beck::http::detail {

context_objects::~context_objects() {
  table_->destroy_maker(maker_);
  delete[] entries_;
}

void* context_objects::find(const execution_context& of) const {
  for (std::size_t i = 0; i < count_; ++i)
    if (entries_[i].context == &of && entries_[i].object != nullptr) return entries_[i].object;
  throw std::logic_error("http: a context without an object; see run_options::objects");
}

/// Makes entries for another run.
void context_objects::prepare(std::size_t contexts) {
  for (std::size_t i = 0; i < count_; ++i)
    BECK_ASSERT(entries_[i].object == nullptr, "a per_context has two run() at the same time");
  delete[] std::exchange(entries_, nullptr);
  count_ = 0;
  entries_ = new entry[contexts];
  count_ = contexts;
}

void context_objects::make(std::size_t index, io_context& on) {
  BECK_ASSERT(index < count_ && entries_[index].object == nullptr,
              "a context has two objects of a per_context");
  entries_[index].object = table_->make(maker_, on);
}

task<> context_objects::start(std::size_t index) const {
  BECK_ASSERT(entries_[index].object != nullptr, "an object is started that was not made");
  if (table_->start != nullptr) co_await table_->start(entries_[index].object);
}

task<> context_objects::stop(std::size_t index) const {
  BECK_ASSERT(entries_[index].object != nullptr, "an object is stopped that was not made");
  if (table_->stop != nullptr) co_await table_->stop(entries_[index].object);
}

void context_objects::destroy(std::size_t index) noexcept {
  void* const object = std::exchange(entries_[index].object, nullptr);
  if (object != nullptr) table_->destroy(object);
}

}  // namespace beck::http::detail
