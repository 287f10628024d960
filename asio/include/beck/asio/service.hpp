// SPDX-License-Identifier: BSL-1.0
// Services: objects of a program that exist once for each context and end with it.
#pragma once

#include <concepts>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <beck/asio/config.hpp>
#include <beck/asio/executor.hpp>

namespace beck {

namespace detail {

/// Its address is the key of a class of services that has no id.
template <class Key>
inline constexpr char service_key = 0;

/// Returns a context's pointer to its services.
struct context_services_access {
  static context_services*& of(execution_context& context) noexcept { return context.services_; }
};

}  // namespace detail

/// Identifies a class of services, as its static member `id`. Derived classes inherit it.
class execution_context::id {
 public:
  id() noexcept = default;
  id(const id&) = delete;
  id& operator=(const id&) = delete;
};

/// The base of services. A derived class has a constructor from execution_context&, and may have an
/// `id`, or a type `key_type` whose id stands for its own. Without them its type identifies it.
class execution_context::service {
 public:
  service(const service&) = delete;
  service& operator=(const service&) = delete;
  virtual ~service() = default;

  /// Returns the context that the service belongs to.
  execution_context& context() noexcept { return *context_; }
  /// Drops all work that the service holds: called when the context ends, while all services still
  /// exist. Must not throw.
  virtual void shutdown() = 0;

 protected:
  /// Belongs to `context`.
  explicit service(execution_context& context) noexcept : context_(&context) {}

 private:
  execution_context* context_;
};

}  // namespace beck

BECK_ASIO_BEGIN

/// The context has a service of this class already.
class service_already_exists : public std::logic_error {
 public:
  service_already_exists() : std::logic_error("Service already exists.") {}
};
/// The service was made for another context.
class invalid_service_owner : public std::logic_error {
 public:
  invalid_service_owner() : std::logic_error("Invalid service owner.") {}
};

namespace facade {

/// The services of a context, the oldest first. Thread: any, under its mutex.
class service_list final : public beck::detail::context_services {
 public:
  service_list() = default;
  service_list(const service_list&) = delete;
  service_list& operator=(const service_list&) = delete;
  ~service_list() override {
    while (!entries_.empty()) entries_.pop_back();
  }
  /// Guards the lists of all contexts: services are looked up once, when objects are made.
  static std::mutex& mutex() {
    static std::mutex all;
    return all;
  }
  /// Returns the list of a context. Requires the mutex.
  static service_list& of(execution_context& context) {
    beck::detail::context_services*& place = beck::detail::context_services_access::of(context);
    if (place == nullptr) place = new service_list;
    return static_cast<service_list&>(*place);
  }

  /// Calls shutdown() of each service, the newest first.
  void shut_down() noexcept override {
    if (std::exchange(is_shut_down_, true)) return;
    for (auto at = entries_.rbegin(); at != entries_.rend(); ++at) at->made->shutdown();
  }
  /// Returns the service with this key, or nullptr.
  execution_context::service* find(const void* key) const noexcept {
    for (const entry& one : entries_) {
      if (one.key == key) return one.made.get();
    }
    return nullptr;
  }
  /// Adds a service, which the list then owns. If there is no memory, the caller still owns it.
  void add(const void* key, execution_context::service* made) {
    entries_.push_back({key, nullptr});
    entries_.back().made.reset(made);
  }

 private:
  struct entry {
    const void* key;
    std::unique_ptr<execution_context::service> made;
  };
  std::vector<entry> entries_;
  bool is_shut_down_ = false;
};

template <class Key>
const void* key_of() noexcept {
  if constexpr (requires {
                  { Key::id } -> std::same_as<execution_context::id&>;
                }) {
    return &Key::id;
  } else {
    return &beck::detail::service_key<Key>;
  }
}
template <class Service>
const void* key_of_service() noexcept {
  if constexpr (requires { typename Service::key_type; }) {
    return facade::key_of<typename Service::key_type>();
  } else {
    return facade::key_of<Service>();
  }
}

/// Returns the service, or nullptr.
template <class Service>
Service* find_service(execution_context& context) {
  const std::lock_guard<std::mutex> guard(service_list::mutex());
  return static_cast<Service*>(service_list::of(context).find(facade::key_of_service<Service>()));
}
/// Adds a service, which the context then owns. Returns false if it has one of this class; the
/// caller then still owns it, as after std::bad_alloc.
template <class Service>
bool keep_service(execution_context& context, Service* made) {
  const std::lock_guard<std::mutex> guard(service_list::mutex());
  service_list& all = service_list::of(context);
  if (all.find(facade::key_of_service<Service>()) != nullptr) return false;
  all.add(facade::key_of_service<Service>(), made);
  return true;
}

}  // namespace facade

/// Returns the service of a context. Makes it if there is none. Thread: any.
template <class Service>
Service& use_service(execution_context& context) {
  if (Service* const found = facade::find_service<Service>(context)) return *found;
  // Without the mutex: the constructor may use other services.
  auto made = std::make_unique<Service>(context);
  if (facade::keep_service(context, made.get())) return *made.release();
  return *facade::find_service<Service>(context);
}
/// Makes a service of a context from the context and `args`. Returns it. Throws
/// service_already_exists.
template <class Service, class... Args>
Service& make_service(execution_context& context, Args&&... args) {
  auto made = std::make_unique<Service>(context, static_cast<Args&&>(args)...);
  if (!facade::keep_service(context, made.get())) throw service_already_exists();
  return *made.release();
}
/// Adds a service to its context, which then owns it. Throws service_already_exists or
/// invalid_service_owner; the caller then still owns it.
template <class Service>
void add_service(execution_context& context, Service* service) {
  if (&service->context() != &context) throw invalid_service_owner();
  if (!facade::keep_service(context, service)) throw service_already_exists();
}
/// Returns whether a context has the service.
template <class Service>
bool has_service(execution_context& context) {
  return facade::find_service<Service>(context) != nullptr;
}

BECK_ASIO_END
