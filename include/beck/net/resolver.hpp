// SPDX-License-Identifier: BSL-1.0
// ip::basic_resolver: from names to endpoints and back, with Asio's interface. The system's own
// function does the work (files, DNS, and all other sources that the machine is configured for) on
// a thread of the context's blocking pool; numeric names need neither.
#pragma once

#include <beck/detail/block.hpp>
#include <beck/detail/job_operation.hpp>
#include <beck/detail/ref_count.hpp>
#include <beck/io/io_context.hpp>
#include <beck/net/name_error.hpp>
#include <beck/net/resolver_results.hpp>
#include <beck/run/op.hpp>
#include <string_view>

namespace beck::ip {

/// The flags of lookups.
class resolver_base {
 public:
  /// Options of a lookup, as the AI_ flags of getaddrinfo(3). Combined with |.
  enum flags : unsigned {
    passive = 0x1,              ///< without a host: addresses to listen on
    canonical_name = 0x2,       ///< entries have the canonical name of the host
    numeric_host = 0x4,         ///< no lookup: a host that is no address is host_not_found
    all_matching = 0x10,        ///< with v4_mapped: both
    address_configured = 0x20,  ///< only versions of IP that this machine has an address of
    numeric_service = 0x400,    ///< a service that is no port number is an error
  };
  /// For lookups of v6 addresses: if there are none, v4 addresses in IPv6 form. (ip::v4_mapped is
  /// something else.)
  static constexpr flags v4_mapped = static_cast<flags>(0x8);
  /// Returns the union.
  friend constexpr flags operator|(flags a, flags b) noexcept {
    return static_cast<flags>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
  }
  /// Returns the intersection.
  friend constexpr flags operator&(flags a, flags b) noexcept {
    return static_cast<flags>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
  }

 protected:
  ~resolver_base() = default;
};

struct resolver_state;

/// For the library: the lookups of a resolver. Its state is counted by the resolver and by each
/// lookup.
class resolver_lookups {
 public:
  /// Makes an empty one. Throws io_error (invalid_argument) unless the context of `executor` is an
  /// io_context.
  explicit resolver_lookups(const any_io_executor& executor);
  /// Takes over the lookups of `other`, which remains usable on its executor.
  resolver_lookups(resolver_lookups&& other) noexcept;
  resolver_lookups& operator=(resolver_lookups&& other) noexcept;
  /// Cancels all lookups.
  ~resolver_lookups() { close(); }

  /// Returns the state. Asserts that a move from this object found memory for a new state.
  resolver_state& get() const noexcept;
  /// Returns the executor.
  any_io_executor executor() const noexcept;
  /// Cancels all lookups.
  void cancel() noexcept;

 private:
  void close() noexcept;

  resolver_state* state_;
};

/// For the library: the parameters of a lookup.
struct name_request_kind {
  int family = 0;      ///< 0: any
  int type = 0;        ///< as socket(2) takes it
  int protocol = 0;    ///< as socket(2) takes it
  unsigned flags = 0;  ///< resolver_base::flags
};

/// For the library: one lookup. It owns all memory that the call on a pool's thread uses, so that a
/// waiter can be released while the call, which nothing can interrupt, goes on. Counted by the
/// waiter and by the call. Not a template; the results have their type below.
class name_request : private detail::job_operation {
 public:
  /// Makes a lookup of names, which are copied.
  name_request(resolver_state& owner, const name_request_kind& how, std::string_view host,
               std::string_view service) noexcept;
  /// Makes a lookup of an address.
  name_request(resolver_state& owner, const name_request_kind& how,
               const socket_address& address) noexcept;
  name_request(const name_request&) = delete;
  name_request& operator=(const name_request&) = delete;

  /// Allocates a recycled block.
  static void* operator new(std::size_t bytes) { return detail::allocate_block(bytes); }
  /// Frees the block.
  static void operator delete(void* request) noexcept { detail::free_block(request); }

  /// Returns whether no lookup is needed: the answer, or an error, is in place. Throws
  /// std::bad_alloc.
  bool answer_at_once();
  /// Looks up in this call, which blocks.
  void answer_here() noexcept;
  /// Returns the error of the lookup.
  error_code failure() const noexcept { return failure_; }
  /// Returns the answer of the lookup.
  const name_answer& answer() const noexcept { return answer_; }

  /// Starts the lookup; a call of end() or abandon() follows. Thread: any.
  void begin() noexcept;
  /// Calls end() with operation_aborted, unless the lookup has ended. Thread: any.
  void cancel() noexcept;
  /// Drops the waiter's reference.
  void release() noexcept;
  /// Returns the executor that operations complete on.
  any_io_executor get_executor() const noexcept;

 protected:
  virtual ~name_request();

 private:
  friend struct resolver_state;

  virtual void end(const error_code& ec, const name_answer& answer) = 0;
  /// Drops the completion: the context is gone, and there will be no answer.
  virtual void abandon() noexcept = 0;

  bool claim() noexcept;
  void take_names(std::string_view host, std::string_view service) noexcept;
  void ask(detail::system& sys) noexcept;
  void ask_name(detail::system& sys);
  void ask_address(detail::system& sys);
  static std::ptrdiff_t perform_call(detail::system& sys, detail::io_op& op) noexcept;
  static void returned(detail::queue_entry* entry, detail::runner* where);

  resolver_state* owner_;
  name_request* next_ = nullptr;  // requests of the same resolver that are under way
  name_request* previous_ = nullptr;
  detail::ref_count count_;
  bool ended_ = true;  // with the owner's mutex held
  bool reverse_;
  unsigned char invalid_ = 0;
  name_request_kind how_;
  error_code failure_;
  name_answer answer_;
  socket_address address_;
  char host_[name_answer::host_bytes_max + 1];
  char service_[name_answer::service_bytes_max + 1];
};

namespace functions {

/// Throws io_error; its text shows the name that was refused or not found.
[[noreturn]] void throw_name_error(const error_code& ec, std::string_view host,
                                   std::string_view service);

}  // namespace functions
using namespace functions;

/// For the library: a lookup with typed results.
template <class Protocol>
class resolve_request final : public name_request {
 public:
  /// The type of the results.
  using results_type = basic_resolver_results<Protocol>;
  using name_request::name_request;

  /// The completion.
  detail::result_handler<error_code, results_type> done;

 private:
  void end(const error_code& ec, const name_answer& answer) override {
    done(ec, results_type(answer));
  }
  void abandon() noexcept override { done = {}; }
};

/// A lookup; starts when awaited or given a token. Completes with (error_code, results).
template <class Protocol>
class [[nodiscard]] resolve_operation
    : public op<resolve_operation<Protocol>, void(error_code, basic_resolver_results<Protocol>)> {
  using request_type = resolve_request<Protocol>;

 public:
  /// The name of the operation in dumps and exceptions.
  static constexpr const char* waits_for = "resolve";

  /// Takes over the request.
  explicit resolve_operation(request_type* request) noexcept : request_(request) {}
  resolve_operation(resolve_operation&& other) noexcept
      : request_(std::exchange(other.request_, nullptr)) {}
  ~resolve_operation() {
    if (request_ != nullptr) request_->release();
  }

  /// Returns the executor that operations complete on.
  any_io_executor get_executor() const noexcept { return request_->get_executor(); }
  /// For beck::op: finishes at once if no lookup is needed.
  bool ready() {
    return request_->answer_at_once() &&
           this->finish(request_->failure(),
                        typename request_type::results_type(request_->answer()));
  }
  /// For beck::op: starts the lookup.
  void initiate(typename resolve_operation::handler done) noexcept {
    request_->done = static_cast<typename resolve_operation::handler&&>(done);
    request_->begin();
  }
  /// For beck::op: cancels the lookup.
  void cancel() noexcept { request_->cancel(); }

 private:
  request_type* request_;
};

/// Looks up hosts and services of one protocol. Any number of lookups may be under way; four of a
/// context are performed at a time, the others wait for their turn (detail/job_operation.hpp).
///
/// A numeric host with a numeric service needs no lookup, and completes without suspension if the
/// budget allows. Names are copied when a lookup is made. A host name has at most 255 bytes, a
/// service name 32, and neither a NUL: otherwise error::invalid_host_name or invalid_service_name.
/// Errors: error::netdb_errors, error::addrinfo_errors, and the system's.
/// Simulated: the hosts of the world have the names that world::host() gave them, each calls itself
/// localhost, and some services have their usual names; a lookup takes a random time.
/// Thread: one object from one thread at a time.
/// Cancellation: at once, with operation_aborted, whatever the name server does; the call behind it
/// continues, keeps a thread of the pool busy until it returns, and its answer is dropped. run()
/// does not wait for that call, the context's destructor does.
template <class Protocol>
class basic_resolver : public resolver_base {
 public:
  /// The type of the executor.
  using executor_type = any_io_executor;
  /// The protocol.
  using protocol_type = Protocol;
  /// The type of the endpoints.
  using endpoint_type = typename Protocol::endpoint;
  /// The type of the results.
  using results_type = basic_resolver_results<Protocol>;
  /// The same type with a default token (interop/default_token_net.hpp).
  template <class Other>
  struct rebind_executor {
    /// The type.
    using other = beck::detail::rebound<basic_resolver, Other>;
  };

  /// Makes a resolver. Throws std::bad_alloc.
  explicit basic_resolver(io_context& context)
      : basic_resolver(any_io_executor(context.get_executor())) {}
  /// Makes a resolver whose lookups complete on `executor`. Throws io_error (invalid_argument)
  /// unless its context is an io_context.
  explicit basic_resolver(const any_io_executor& executor) : lookups_(executor) {}
  /// Takes over the lookups of `other`, which remains usable on its executor.
  basic_resolver(basic_resolver&& other) noexcept = default;
  /// Cancels its own lookups and takes over those of `other`.
  basic_resolver& operator=(basic_resolver&& other) noexcept = default;
  /// Cancels all lookups.
  ~basic_resolver() = default;

  /// Returns the executor that operations complete on.
  executor_type get_executor() const noexcept { return lookups_.executor(); }
  /// Ends all lookups with operation_aborted.
  void cancel() noexcept { lookups_.cancel(); }

  /// Looks up `host` and `service`, of both versions of IP. Completes with (error_code,
  /// results_type).
  resolve_operation<Protocol> async_resolve(std::string_view host, std::string_view service,
                                            flags how = {}) {
    return start(kind_of(how), host, service);
  }
  /// As above, only addresses of the version of `protocol`.
  resolve_operation<Protocol> async_resolve(const Protocol& protocol, std::string_view host,
                                            std::string_view service, flags how = {}) {
    return start(kind_of(protocol, how), host, service);
  }
  /// Looks up the names of an endpoint. Completes with one entry.
  resolve_operation<Protocol> async_resolve(const endpoint_type& endpoint) {
    return start(kind_of(endpoint.protocol(), {}), endpoint);
  }
  /// Looks up `host` and `service`. `token` takes (error_code, results_type).
  template <completion_token_for<void(error_code, results_type)> Token>
  auto async_resolve(std::string_view host, std::string_view service, Token&& token) {
    return detail::launch(async_resolve(host, service), static_cast<Token&&>(token));
  }
  /// As above, with flags.
  template <class Token>
  auto async_resolve(std::string_view host, std::string_view service, flags how, Token&& token) {
    return detail::launch(async_resolve(host, service, how), static_cast<Token&&>(token));
  }
  /// As above, only addresses of the version of `protocol`.
  template <completion_token_for<void(error_code, results_type)> Token>
  auto async_resolve(const Protocol& protocol, std::string_view host, std::string_view service,
                     Token&& token) {
    return detail::launch(async_resolve(protocol, host, service), static_cast<Token&&>(token));
  }
  /// As above, with flags.
  template <class Token>
  auto async_resolve(const Protocol& protocol, std::string_view host, std::string_view service,
                     flags how, Token&& token) {
    return detail::launch(async_resolve(protocol, host, service, how), static_cast<Token&&>(token));
  }
  /// Looks up the names of an endpoint. `token` takes (error_code, results_type).
  template <class Token>
  auto async_resolve(const endpoint_type& endpoint, Token&& token) {
    return detail::launch(async_resolve(endpoint), static_cast<Token&&>(token));
  }

  /// Looks up `host` and `service` in this call, which blocks the thread: not for handlers of a
  /// program that has other things to do. Returns the results; none after an error.
  results_type resolve(std::string_view host, std::string_view service, flags how, error_code& ec) {
    return answer(kind_of(how), ec, host, service);
  }
  /// As above, without flags.
  results_type resolve(std::string_view host, std::string_view service, error_code& ec) {
    return resolve(host, service, flags(), ec);
  }
  /// As above, and throws io_error on failure, whose text shows the name.
  results_type resolve(std::string_view host, std::string_view service, flags how = {}) {
    error_code ec;
    results_type results = resolve(host, service, how, ec);
    if (ec) throw_name_error(ec, host, service);
    return results;
  }
  /// Looks up only addresses of the version of `protocol`. Blocks.
  results_type resolve(const Protocol& protocol, std::string_view host, std::string_view service,
                       flags how, error_code& ec) {
    return answer(kind_of(protocol, how), ec, host, service);
  }
  /// As above, without flags.
  results_type resolve(const Protocol& protocol, std::string_view host, std::string_view service,
                       error_code& ec) {
    return resolve(protocol, host, service, flags(), ec);
  }
  /// As above, and throws io_error on failure, whose text shows the name.
  results_type resolve(const Protocol& protocol, std::string_view host, std::string_view service,
                       flags how = {}) {
    error_code ec;
    results_type results = resolve(protocol, host, service, how, ec);
    if (ec) throw_name_error(ec, host, service);
    return results;
  }
  /// Looks up the names of an endpoint. Blocks. Returns one entry.
  results_type resolve(const endpoint_type& endpoint, error_code& ec) {
    return answer(kind_of(endpoint.protocol(), {}), ec, endpoint);
  }
  /// As above, and throws io_error on failure, whose text shows the endpoint.
  results_type resolve(const endpoint_type& endpoint) {
    error_code ec;
    results_type results = resolve(endpoint, ec);
    if (ec) ip::throw_name_error(ec, endpoint.to_text(), "");
    return results;
  }

 private:
  using request_type = resolve_request<Protocol>;

  static name_request_kind kind_of(flags how) noexcept {
    const Protocol any = Protocol::v4();
    return {0, any.type(), any.protocol(), how};
  }
  static name_request_kind kind_of(const Protocol& protocol, flags how) noexcept {
    return {protocol.family(), protocol.type(), protocol.protocol(), how};
  }
  template <class... Question>
  resolve_operation<Protocol> start(const name_request_kind& how, const Question&... question) {
    return resolve_operation<Protocol>(new request_type(lookups_.get(), how, question...));
  }
  template <class... Question>
  results_type answer(const name_request_kind& how, error_code& ec, const Question&... question) {
    request_type request(lookups_.get(), how, question...);
    request.answer_here();
    ec = request.failure();
    return results_type(request.answer());
  }
  resolver_lookups lookups_;
};

}  // namespace beck::ip
