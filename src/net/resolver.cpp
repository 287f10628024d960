// SPDX-License-Identifier: BSL-1.0
// Lookups: the answers that need no call, the call for all others, and the delivery of the answer.
// The return of the call and a cancellation compete to claim a request, under the lock of its
// resolver; the one that claims it completes the operation.
#include <beck/net/resolver.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include <netdb.h>
#include <sys/socket.h>

#include <beck/base/assert.hpp>
#include <beck/net/address.hpp>

#include "base/fork_count.hpp"
#include "io/loop/io_loop.hpp"
#include "io/loop/loop_access.hpp"
#include "io/system/requests.hpp"

namespace beck::ip {
using namespace detail;

static_assert(resolver_base::passive == AI_PASSIVE &&
              resolver_base::numeric_host == AI_NUMERICHOST);
static_assert(resolver_base::canonical_name == AI_CANONNAME &&
              resolver_base::numeric_service == AI_NUMERICSERV);
static_assert(resolver_base::v4_mapped == AI_V4MAPPED && resolver_base::all_matching == AI_ALL &&
              resolver_base::address_configured == AI_ADDRCONFIG);

/// The state of a resolver and its requests. Each request holds a reference.
struct resolver_state {
  resolver_state(io_loop& where, any_io_executor how) noexcept
      : loop(where), executor(std::move(how)) {}

  void drop() noexcept {
    if (count.drop()) delete this;
  }

  /// Cancels all requests that have not ended.
  void cancel() noexcept {
    for (;;) {
      name_request* request = nullptr;
      {
        std::unique_lock lock(mutex, std::defer_lock);
        if (!take_unless_lost(lock, forks)) return;
        request = first;
        if (request == nullptr) return;
        request->count_.add();  // a listed request exists; this keeps it after the unlock
      }
      request->cancel();
      request->release();
    }
  }

  io_loop& loop;
  any_io_executor executor;
  ref_count count;
  const unsigned forks = fork_count();
  std::mutex mutex;
  name_request* first = nullptr;
};

namespace {

enum : unsigned char { valid, bad_host, bad_service };

error_code error_of(int status) noexcept {
  switch (-status) {
    case 0:
      return {};
    case EAI_AGAIN:
      return error::host_not_found_try_again;
    case EAI_BADFLAGS:
      return error::make_error_code(error::invalid_argument);
    case EAI_FAIL:
      return error::no_recovery;
    case EAI_FAMILY:
      return error::make_error_code(error::address_family_not_supported);
    case EAI_MEMORY:
      return error::make_error_code(error::no_memory);
    case EAI_NONAME:
    case EAI_ADDRFAMILY:
      return error::host_not_found;
    case EAI_NODATA:
      return error::no_data;
    case EAI_SERVICE:
      return error::service_not_found;
    case EAI_SOCKTYPE:
      return error::socket_type_not_supported;
    default:
      return status < 0 ? make_error(status) : error_code(error::no_recovery);
  }
}

/// Parses a decimal number; returns false if `text` is none. A number too large for a port is
/// returned as UINT16_MAX + 1. An empty text is 0.
bool read_number(std::string_view text, unsigned& number) noexcept {
  number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    number = std::min(number * 10 + static_cast<unsigned>(c - '0'), UINT16_MAX + 1U);
  }
  return true;
}

/// Collects the answer of a lookup.
class collected_addresses final : public name_sink {
 public:
  void canonical_name(const char* name) override { called = name; }
  void address(const void* address, std::size_t bytes) override {
    socket_address& one = found.emplace_back();
    std::memcpy(one.data(), address, std::min(bytes, socket_address::capacity()));
  }
  std::vector<socket_address> found;
  std::string called;
};

}  // namespace

void functions::throw_name_error(const error_code& ec, std::string_view host,
                                 std::string_view service) {
  const bool of_service = ec.category() == addrinfo_category();
  throw_error(ec, of_service ? "resolve service" : "resolve host", of_service ? service : host);
}

// --- a resolver's lookups ------------------------------------------------------------------------

resolver_lookups::resolver_lookups(const any_io_executor& executor)
    : state_(new resolver_state(loop_of(executor), executor)) {}

resolver_lookups::resolver_lookups(resolver_lookups&& other) noexcept : state_(other.state_) {
  if (state_ != nullptr)
    other.state_ = new (std::nothrow) resolver_state(state_->loop, state_->executor);
}

resolver_lookups& resolver_lookups::operator=(resolver_lookups&& other) noexcept {
  if (&other == this) return *this;
  close();
  state_ = std::exchange(other.state_, nullptr);
  if (state_ != nullptr)
    other.state_ = new (std::nothrow) resolver_state(state_->loop, state_->executor);
  return *this;
}

resolver_state& resolver_lookups::get() const noexcept {
  BECK_ASSERT(state_ != nullptr, "a resolver was moved from, and there was no memory to go on");
  return *state_;
}

any_io_executor resolver_lookups::executor() const noexcept { return get().executor; }

void resolver_lookups::cancel() noexcept {
  if (state_ != nullptr) state_->cancel();
}

void resolver_lookups::close() noexcept {
  cancel();
  if (state_ != nullptr) std::exchange(state_, nullptr)->drop();
}

// --- one lookup ----------------------------------------------------------------------------------

name_request::name_request(resolver_state& owner, const name_request_kind& how,
                           std::string_view host, std::string_view service) noexcept
    : job_operation(owner.loop.context(), &perform_call),
      owner_(&owner),
      reverse_(false),
      how_(how) {
  owner.count.add();
  take_names(host, service);
}

name_request::name_request(resolver_state& owner, const name_request_kind& how,
                           const socket_address& known) noexcept
    : job_operation(owner.loop.context(), &perform_call),
      owner_(&owner),
      reverse_(true),
      how_(how),
      address_(known) {
  owner.count.add();
}

name_request::~name_request() { owner_->drop(); }

void name_request::take_names(std::string_view host, std::string_view service) noexcept {
  const auto keep = [](std::string_view text, char* to, std::size_t bytes_max) {
    if (text.size() > bytes_max) return false;
    if (!text.empty()) {
      if (std::memchr(text.data(), '\0', text.size()) != nullptr) return false;
      std::memcpy(to, text.data(), text.size());
    }
    to[text.size()] = '\0';
    return true;
  };
  if (!keep(host, host_, name_answer::host_bytes_max)) {
    invalid_ = bad_host;
  } else if (!keep(service, service_, name_answer::service_bytes_max)) {
    invalid_ = bad_service;
  }
}

any_io_executor name_request::get_executor() const noexcept { return owner_->executor; }

void name_request::release() noexcept {
  if (count_.drop()) delete this;
}

/// Answers without a call if the host is numeric or empty and the service is a number, or if a name
/// is invalid; returns whether it did.
bool name_request::answer_at_once() {
  if (reverse_) return false;
  if (invalid_ != valid) {
    failure_ = invalid_ == bad_host ? error_code(error::invalid_host_name)
                                    : error_code(error::invalid_service_name);
    return true;
  }
  const std::string_view host(host_), service(service_);
  unsigned number = 0;
  if (!read_number(service, number)) return false;
  if (number > UINT16_MAX) {  // getaddrinfo(3) would take its lower bits
    failure_ = error::service_not_found;
    return true;
  }
  const auto port = static_cast<port_type>(number);
  const auto wanted = [this](int family) { return how_.family == 0 || how_.family == family; };
  socket_address found[2];
  std::size_t count = 0;
  if (host.empty()) {
    if (service.empty() || (how_.flags & AI_ADDRCONFIG) != 0) return false;
    const bool passive = (how_.flags & AI_PASSIVE) != 0;  // in the C library's order
    const ip::address v4 = passive ? ip::address(address_v4::any()) : address_v4::loopback();
    const ip::address v6 = passive ? ip::address(address_v6::any()) : address_v6::loopback();
    if (!passive && wanted(AF_INET6)) found[count++] = socket_address(v6, port);
    if (wanted(AF_INET)) found[count++] = socket_address(v4, port);
    if (passive && wanted(AF_INET6)) found[count++] = socket_address(v6, port);
  } else {
    error_code not_numeric;
    const ip::address numeric = make_address(host, not_numeric);
    if (not_numeric || !wanted(numeric.is_v6() ? AF_INET6 : AF_INET)) return false;
    found[count++] = socket_address(numeric, port);
  }
  answer_ = name_answer(found, count, host, service);
  return true;
}

void name_request::ask(system& sys) noexcept {
  try {
    reverse_ ? ask_address(sys) : ask_name(sys);
  } catch (const std::bad_alloc&) {
    failure_ = error::make_error_code(error::no_memory);
  }
}

void name_request::ask_name(system& sys) {
  const auto given = [](const char* text) { return *text != '\0' ? text : nullptr; };
  const name_question question{given(host_), given(service_), how_.family,
                               how_.type,    how_.protocol,   how_.flags};
  collected_addresses to;
  failure_ = error_of(sys.look_up(question, to));
  if (failure_) return;
  const std::string_view called(to.called.empty() ? std::string_view(host_)
                                                  : std::string_view(to.called));
  answer_ = name_answer(to.found.data(), to.found.size(), called, service_);
}

void name_request::ask_address(system& sys) {
  name_texts names;
  failure_ =
      error_of(sys.name_of(address_.data(), address_.size(), how_.type == SOCK_DGRAM, names));
  if (!failure_) answer_ = name_answer(&address_, 1, names.host, names.service);
}

void name_request::answer_here() noexcept {
  try {
    if (answer_at_once()) return;
  } catch (const std::bad_alloc&) {
    failure_ = error::make_error_code(error::no_memory);
    return;
  }
  ask(owner_->loop.sys());
}

// --- starting and ending -------------------------------------------------------------------------

void name_request::begin() noexcept {
  count_.add();  // for returned(): a cancellation may end the request as soon as it is listed
  owner_->loop.work(1);
  {
    const std::lock_guard lock(owner_->mutex);
    ended_ = false;
    next_ = owner_->first;
    if (next_ != nullptr) next_->previous_ = this;
    owner_->first = this;
  }
  detach();  // run() waits for the work added above, which ends when the operation has completed
  complete = &returned;
  start_operation(*this);
}

/// Removes the request from the list. Returns true for the one caller that has to end it; false if
/// it has ended, or if its lock was lost in a fork.
bool name_request::claim() noexcept {
  std::unique_lock lock(owner_->mutex, std::defer_lock);
  if (!take_unless_lost(lock, owner_->forks) || ended_) return false;
  ended_ = true;
  if (next_ != nullptr) next_->previous_ = previous_;
  (previous_ != nullptr ? previous_->next_ : owner_->first) = next_;
  return true;
}

void name_request::cancel() noexcept {
  if (!claim()) return;
  io_loop& loop = owner_->loop;
  end(error::make_error_code(error::operation_aborted), name_answer());
  loop.work(-1);
}

std::ptrdiff_t name_request::perform_call(system& sys, io_op& op) noexcept {
  auto& self = static_cast<name_request&>(static_cast<job_operation&>(op));
  {
    const std::lock_guard lock(self.owner_->mutex);
    if (self.ended_) return -ECANCELED;
  }
  self.ask(sys);
  return 0;
}

void name_request::returned(queue_entry* entry, runner* where) {
  auto& self = static_cast<name_request&>(static_cast<job_operation&>(*static_cast<io_op*>(entry)));
  if (self.claim()) {
    io_loop& loop = self.owner_->loop;
    if (where == nullptr) {
      self.abandon();
    } else if (self.result < 0) {  // the call could not be made
      self.end(make_error(self.result), name_answer());
    } else {
      self.end(self.failure_, self.answer_);
    }
    loop.work(-1);
  }
  self.release();
}

}  // namespace beck::ip
