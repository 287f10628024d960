// SPDX-License-Identifier: BSL-1.0
// ip::basic_resolver: from names to endpoints and back, with Asio's interface. The system's own
// function does the work (files, DNS, whatever the machine is set up for) on a thread of the
// context's blocking pool; numeric names need neither.
#pragma once

#include <beck/detail/block.hpp>
#include <beck/detail/job_operation.hpp>
#include <beck/detail/ref_count.hpp>
#include <beck/io/io_context.hpp>
#include <beck/net/name_error.hpp>
#include <beck/net/resolver_results.hpp>
#include <beck/run/op.hpp>

namespace beck::ip {

/// How to look up, as the AI_ flags of getaddrinfo(3).
class resolver_base {
 public:
  enum flags : unsigned {
    passive = 0x1,              ///< without a host: addresses to listen on
    canonical_name = 0x2,       ///< entries have the name that the host calls itself
    numeric_host = 0x4,         ///< ask nobody: anything but an address is host_not_found
    all_matching = 0x10,        ///< with v4_mapped: both
    address_configured = 0x20,  ///< only versions of IP that this machine has an address of
    numeric_service = 0x400,    ///< anything but a port number is an error
  };
  /// v6 asked for and not found: v4 addresses as v6 ones. (There is an ip::v4_mapped, too.)
  static constexpr flags v4_mapped = static_cast<flags>(0x8);
  friend constexpr flags operator|(flags a, flags b) noexcept {
    return static_cast<flags>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
  }
  friend constexpr flags operator&(flags a, flags b) noexcept {
    return static_cast<flags>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
  }

 protected:
  ~resolver_base() = default;
};

struct resolver_state;

/// A resolver's lookups: counted by the resolver and by each of them.
class resolver_lookups {
 public:
  explicit resolver_lookups(const any_io_executor& executor);
  /// The other one goes on without lookups, on its executor.
  resolver_lookups(resolver_lookups&& other) noexcept;
  resolver_lookups& operator=(resolver_lookups&& other) noexcept;
  /// Cancels.
  ~resolver_lookups() { close(); }

  /// Asserts that a move from this found memory for another state.
  resolver_state& get() const noexcept;
  any_io_executor executor() const noexcept;
  void cancel() noexcept;

 private:
  void close() noexcept;

  resolver_state* state_;
};

/// What a resolver is asked for.
struct name_request_kind {
  int family = 0;  ///< 0: any
  int type = 0;
  int protocol = 0;
  unsigned flags = 0;
};

/// One lookup. It owns all that the call of a pool's thread touches, so that whoever waits can be
/// told to wait no longer while the call goes on, which nothing can interrupt. Counted: by who
/// waits, and by the call. Not a template; the results have their type below.
class name_request : private detail::job_operation {
 public:
  name_request(resolver_state& owner, const name_request_kind& how, detail::text_view host,
               detail::text_view service) noexcept;
  name_request(resolver_state& owner, const name_request_kind& how,
               const socket_address& address) noexcept;
  name_request(const name_request&) = delete;
  name_request& operator=(const name_request&) = delete;

  static void* operator new(std::size_t bytes) { return detail::allocate_block(bytes); }
  static void operator delete(void* request) noexcept { detail::free_block(request); }

  /// True if nobody has to be asked: the answer, or an error, is in place. Throws std::bad_alloc.
  bool answer_at_once();
  /// Asks in this call, and waits.
  void answer_here() noexcept;
  error_code failure() const noexcept { return failure_; }
  const name_answer& answer() const noexcept { return answer_; }

  /// Starts the lookup; end() or abandon() follows. Any thread.
  void begin() noexcept;
  /// end() with operation_aborted, if nothing has come yet. Any thread.
  void cancel() noexcept;
  /// Whoever waits lets go of it.
  void release() noexcept;
  any_io_executor get_executor() const noexcept;

 protected:
  virtual ~name_request();

 private:
  friend struct resolver_state;

  virtual void end(const error_code& ec, const name_answer& answer) = 0;
  /// The context is gone: nobody gets an answer.
  virtual void abandon() noexcept = 0;

  bool claim() noexcept;
  void take_names(detail::text_view host, detail::text_view service) noexcept;
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

/// Throws io_error; its text shows the name that was refused or not found.
[[noreturn]] void throw_name_error(const error_code& ec, detail::text_view host,
                                   detail::text_view service);

template <class Protocol>
class resolve_request final : public name_request {
 public:
  using results_type = basic_resolver_results<Protocol>;
  using name_request::name_request;

  detail::result_handler<error_code, results_type> done;

 private:
  void end(const error_code& ec, const name_answer& answer) override {
    done(ec, results_type(answer));
  }
  void abandon() noexcept override { done = {}; }
};

/// A lookup; starts when awaited or given a token. Gives (error_code, results).
template <class Protocol>
class [[nodiscard]] resolve_operation
    : public op<resolve_operation<Protocol>, void(error_code, basic_resolver_results<Protocol>)> {
  using request_type = resolve_request<Protocol>;

 public:
  static constexpr const char* waits_for = "resolve";

  /// Takes over the request.
  explicit resolve_operation(request_type* request) noexcept : request_(request) {}
  resolve_operation(resolve_operation&& other) noexcept
      : request_(std::exchange(other.request_, nullptr)) {}
  ~resolve_operation() {
    if (request_ != nullptr) request_->release();
  }

  any_io_executor get_executor() const noexcept { return request_->get_executor(); }
  bool ready() {
    return request_->answer_at_once() &&
           this->finish(request_->failure(),
                        typename request_type::results_type(request_->answer()));
  }
  void initiate(typename resolve_operation::handler done) noexcept {
    request_->done = static_cast<typename resolve_operation::handler&&>(done);
    request_->begin();
  }
  void cancel() noexcept { request_->cancel(); }

 private:
  request_type* request_;
};

/// Looks up hosts and services of one protocol. Any number of lookups may be under way; four of a
/// context ask at a time, the others wait for their turn (detail/job_operation.hpp).
///
/// A numeric host with a numeric service is answered without asking anybody, and without suspension
/// where the rules allow that. Names are copied when a lookup is made; a host name has at most 255
/// bytes, a service name 32, and neither a NUL: else error::invalid_host_name or
/// invalid_service_name.
/// Errors: error::netdb_errors, addrinfo_errors, and the system's.
/// Simulated: the hosts of the world have the names that world::host() gave them, each calls itself
/// localhost, and some services have their usual names; a lookup takes a drawn time.
/// Thread: one object from one thread at a time.
/// Cancellation: at once, with operation_aborted, whatever the name server does; the call behind it
/// goes on for itself, keeps a thread of the pool busy until it returns, and its answer is dropped.
/// run() does not wait for that, the context's destructor does.
template <class Protocol>
class basic_resolver : public resolver_base {
 public:
  using executor_type = any_io_executor;
  using protocol_type = Protocol;
  using endpoint_type = typename Protocol::endpoint;
  using results_type = basic_resolver_results<Protocol>;

  explicit basic_resolver(io_context& context)
      : basic_resolver(any_io_executor(context.get_executor())) {}
  /// Requires an executor whose context is an io_context; throws io_error (invalid_argument) else.
  explicit basic_resolver(const any_io_executor& executor) : lookups_(executor) {}
  /// Lookups that are under way go along; the other one is as new, on its executor.
  basic_resolver(basic_resolver&& other) noexcept = default;
  /// Cancels its own.
  basic_resolver& operator=(basic_resolver&& other) noexcept = default;
  /// Cancels.
  ~basic_resolver() = default;

  executor_type get_executor() const noexcept { return lookups_.executor(); }
  /// Ends all lookups that are under way with operation_aborted.
  void cancel() noexcept { lookups_.cancel(); }

  /// With a protocol: only addresses of its version of IP.
  resolve_operation<Protocol> async_resolve(detail::text_view host, detail::text_view service,
                                            flags how = {}) {
    return start(kind_of(how), host, service);
  }
  resolve_operation<Protocol> async_resolve(const Protocol& protocol, detail::text_view host,
                                            detail::text_view service, flags how = {}) {
    return start(kind_of(protocol, how), host, service);
  }
  /// The names of an address. Gives one entry.
  resolve_operation<Protocol> async_resolve(const endpoint_type& endpoint) {
    return start(kind_of(endpoint.protocol(), {}), endpoint);
  }
  template <completion_token_for<void(error_code, results_type)> Token>
  auto async_resolve(detail::text_view host, detail::text_view service, Token&& token) {
    return detail::launch(async_resolve(host, service), static_cast<Token&&>(token));
  }
  template <class Token>
  auto async_resolve(detail::text_view host, detail::text_view service, flags how, Token&& token) {
    return detail::launch(async_resolve(host, service, how), static_cast<Token&&>(token));
  }
  template <completion_token_for<void(error_code, results_type)> Token>
  auto async_resolve(const Protocol& protocol, detail::text_view host, detail::text_view service,
                     Token&& token) {
    return detail::launch(async_resolve(protocol, host, service), static_cast<Token&&>(token));
  }
  template <class Token>
  auto async_resolve(const Protocol& protocol, detail::text_view host, detail::text_view service,
                     flags how, Token&& token) {
    return detail::launch(async_resolve(protocol, host, service, how), static_cast<Token&&>(token));
  }
  template <class Token>
  auto async_resolve(const endpoint_type& endpoint, Token&& token) {
    return detail::launch(async_resolve(endpoint), static_cast<Token&&>(token));
  }

  /// The same in this call, which waits; not in a handler of a program that has other things to do.
  results_type resolve(detail::text_view host, detail::text_view service, flags how,
                       error_code& ec) {
    return answer(kind_of(how), ec, host, service);
  }
  results_type resolve(detail::text_view host, detail::text_view service, error_code& ec) {
    return resolve(host, service, flags(), ec);
  }
  results_type resolve(detail::text_view host, detail::text_view service, flags how = {}) {
    error_code ec;
    results_type results = resolve(host, service, how, ec);
    if (ec) throw_name_error(ec, host, service);
    return results;
  }
  results_type resolve(const Protocol& protocol, detail::text_view host, detail::text_view service,
                       flags how, error_code& ec) {
    return answer(kind_of(protocol, how), ec, host, service);
  }
  results_type resolve(const Protocol& protocol, detail::text_view host, detail::text_view service,
                       error_code& ec) {
    return resolve(protocol, host, service, flags(), ec);
  }
  results_type resolve(const Protocol& protocol, detail::text_view host, detail::text_view service,
                       flags how = {}) {
    error_code ec;
    results_type results = resolve(protocol, host, service, how, ec);
    if (ec) throw_name_error(ec, host, service);
    return results;
  }
  results_type resolve(const endpoint_type& endpoint, error_code& ec) {
    return answer(kind_of(endpoint.protocol(), {}), ec, endpoint);
  }
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
