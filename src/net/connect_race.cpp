// SPDX-License-Identifier: BSL-1.0
// Happy Eyeballs as a state machine on a strand: all events of a race (an answer, a failure, the
// time for the next attempt, a request to stop) arrive there, so nothing needs a lock. The
// operation and each handler in flight hold a reference to the race. A handler that is destroyed
// un-run abandons the race, and with it the handler of the operation.
#include <beck/net/connect_race.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include <beck/io/steady_timer.hpp>
#include <beck/net/resolver.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/strand.hpp>
#include <beck/run/work_guard.hpp>

namespace beck::detail {

class connect_race {
 public:
  using done_function = connect_race_operation::handler;

  connect_race(ip::tcp::socket& socket, const happy_eyeballs& how)
      : socket_(socket),
        how_(how),
        context_(socket_calls::context_of(*socket.slot())),
        home_(socket.get_executor()),
        strand_(make_strand_executor(home_)),
        resolver_(context_),
        timer_(context_) {
    stop_.race = this;
    stop_.run = &stop_entry::stop;
  }
  connect_race(const connect_race&) = delete;
  connect_race& operator=(const connect_race&) = delete;

  void ask_for(std::string_view host, std::string_view service) {
    request_.emplace(resolver_.async_resolve(host, service));
  }
  void add(const ip::tcp::endpoint& endpoint) { endpoints_.push_back(endpoint); }
  const any_io_executor& home() const noexcept { return home_; }

  /// Starts the race; `done` receives its result.
  void start(done_function done);
  /// Ends the race with operation_aborted, unless it is decided. Allocates nothing. Thread: any.
  void request_stop() noexcept;
  void drop() noexcept {
    if (count_.drop()) delete this;
  }

 private:
  /// The reference that a handler holds to the race.
  class share {
   public:
    explicit share(connect_race& race) noexcept : race_(&race) { race.count_.add(); }
    share(share&& other) noexcept : race_(std::exchange(other.race_, nullptr)), ran_(other.ran_) {}
    share& operator=(share&&) = delete;
    ~share() {
      if (race_ == nullptr) return;
      // The handler was not run: its context is gone, so the race is abandoned; or, inside a step,
      // its operation could not be started, which that step reports.
      if (!ran_ && !race_->in_step_) race_->give_up();
      race_->drop();
    }
    /// Takes a step of the race; called when the handler runs.
    template <class Step>
    void run(Step step) noexcept {
      ran_ = true;
      race_->take(step);
    }

   private:
    connect_race* race_;
    bool ran_ = false;
  };
  struct stop_entry : queue_entry {
    static void stop(queue_entry* entry, runner* where) {
      connect_race& race = *static_cast<stop_entry*>(entry)->race;
      if (where != nullptr) race.stop();
      race.home_.on_work_finished();
      race.drop();
    }
    connect_race* race = nullptr;
  };

  /// Runs `step`. An exception of it decides the race.
  template <class Step>
  void take(Step step) noexcept;
  void begin();
  void give_up() noexcept;
  void resolved(const error_code& ec, const ip::tcp::resolver::results_type& found);
  void sort();
  void attempt_next();
  void attempted(std::size_t which, const error_code& ec);
  void arm();
  void stop();
  void decide(const error_code& ec);
  void end_if_still();

  ip::tcp::socket& socket_;
  const happy_eyeballs how_;
  io_context& context_;
  /// Keeps run() of the context from returning between the start of the race and its end.
  std::optional<executor_work_guard<io_context::executor_type>> work_;
  const any_io_executor home_;
  const any_io_executor strand_;
  ip::tcp::resolver resolver_;
  steady_timer timer_;
  ref_count count_;
  stop_entry stop_;
  std::atomic<bool> stop_asked_{false};  // relaxed: only the first one counts
  done_function done_;
  std::optional<ip::resolve_operation<ip::tcp>> request_;
  std::vector<ip::tcp::endpoint> endpoints_;
  std::vector<ip::tcp::socket> attempts_;  // the attempts so far, in the order of endpoints_
  std::size_t under_way_ = 0;              // attempts in flight, and the lookup
  bool in_step_ = false;
  bool decided_ = false;
  bool won_ = false;
  std::size_t winner_ = 0;
  error_code outcome_ = error::make_error_code(error::not_found);
};

// --- from outside --------------------------------------------------------------------------------

void connect_race::start(done_function done) {
  done_ = static_cast<done_function&&>(done);
  work_.emplace(context_.get_executor());
  share mine(*this);
  post(strand_,
       [mine = std::move(mine)]() mutable { mine.run([](connect_race& race) { race.begin(); }); });
}

// The caller may be on another thread than the strand, so the request is posted there.
void connect_race::request_stop() noexcept {
  if (stop_asked_.exchange(true, std::memory_order_relaxed)) return;
  count_.add();
  home_.on_work_started();
  strand_.post(&stop_);
}

// --- on the strand -------------------------------------------------------------------------------

/// A step that cannot start an operation, because memory or slots are exhausted, ends the race; its
/// exception does not leave the run() around it.
template <class Step>
void connect_race::take(Step step) noexcept {
  in_step_ = true;
  try {
    step(*this);
  } catch (const std::bad_alloc&) {
    if (!decided_) decide(error::make_error_code(error::no_memory));
  } catch (...) {
    const error_code failed = caught_code();
    if (!failed) std::terminate();
    if (!decided_) decide(failed);
  }
  in_step_ = false;
}

void connect_race::begin() {
  if (decided_) return end_if_still();
  if (!request_) {
    sort();
    return attempt_next();
  }
  share mine(*this);
  std::move (*request_)(bind_executor(
      strand_, [mine = std::move(mine)](const error_code& ec,
                                        const ip::tcp::resolver::results_type& found) mutable {
        mine.run([&](connect_race& race) { race.resolved(ec, found); });
      }));
  ++under_way_;
}

void connect_race::resolved(const error_code& ec, const ip::tcp::resolver::results_type& found) {
  --under_way_;
  if (decided_) return end_if_still();
  if (ec) return decide(ec);
  endpoints_.assign(found.begin(), found.end());
  sort();
  attempt_next();
}

/// Interleaves IPv6 and IPv4 addresses, each in the order in which they came (RFC 8305 4).
void connect_race::sort() {
  std::vector<ip::tcp::endpoint> v6, v4, all;
  for (const ip::tcp::endpoint& e : endpoints_) (e.is_v6() ? v6 : v4).push_back(e);
  for (std::size_t i = 0; i < std::max(v6.size(), v4.size()); ++i) {
    if (i < v6.size()) all.push_back(v6[i]);
    if (i < v4.size()) all.push_back(v4[i]);
  }
  endpoints_ = std::move(all);
  attempts_.reserve(endpoints_.size());  // so that sockets with operations in flight do not move
}

/// Starts the next attempt; if there is none left and none in flight, the race ends.
void connect_race::attempt_next() {
  const std::size_t which = attempts_.size();
  if (which == endpoints_.size()) {
    if (under_way_ == 0) decide(outcome_);
    return;
  }
  attempts_.emplace_back(context_, home_);
  share mine(*this);
  attempts_[which].async_connect(
      endpoints_[which],
      bind_executor(strand_, [mine = std::move(mine), which](const error_code& ec) mutable {
        mine.run([&](connect_race& race) { race.attempted(which, ec); });
      }));
  ++under_way_;
  if (attempts_.size() < endpoints_.size()) arm();
}

/// Starts the timer for the next attempt.
void connect_race::arm() {
  timer_.expires_after(how_.attempt_delay);  // ends the previous wait
  share mine(*this);
  const std::size_t round = attempts_.size();
  timer_.async_wait(
      bind_executor(strand_, [mine = std::move(mine), round](const error_code& ec) mutable {
        mine.run([&](connect_race& race) {
          if (!ec && !race.decided_ && race.attempts_.size() == round) race.attempt_next();
        });
      }));
}

void connect_race::attempted(std::size_t which, const error_code& ec) {
  --under_way_;
  if (decided_) return end_if_still();
  if (!ec) {
    won_ = true;
    winner_ = which;
    return decide(ec);
  }
  outcome_ = ec;
  error_code ignored;
  attempts_[which].close(ignored);
  timer_.cancel();
  attempt_next();
}

/// Destroys the handler of the operation un-run. That handler may own the operation, and so a
/// reference to this race; the caller holds another one.
void connect_race::give_up() noexcept {
  decided_ = true;
  done_ = {};
}

void connect_race::stop() {
  if (!decided_) decide(error::make_error_code(error::operation_aborted));
}

/// Sets the result, and ends the lookup, the timer and all attempts but the winner.
void connect_race::decide(const error_code& ec) {
  decided_ = true;
  outcome_ = ec;
  timer_.cancel();
  resolver_.cancel();
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    error_code ignored;
    if (!won_ || i != winner_) attempts_[i].close(ignored);
  }
  end_if_still();
}

/// Completes the operation when nothing is in flight any more: then no descriptor of a failed or
/// cancelled attempt is left.
void connect_race::end_if_still() {
  if (under_way_ != 0) return;
  if (!won_) {
    done_(outcome_, ip::tcp::endpoint());
    return;
  }
  socket_ = std::move(attempts_[winner_]);
  done_(outcome_, endpoints_[winner_]);
}

// --- the operation -------------------------------------------------------------------------------

connect_race_operation::connect_race_operation(ip::tcp::socket& socket, const happy_eyeballs& how)
    : race_(new connect_race(socket, how)) {}

connect_race_operation::connect_race_operation(ip::tcp::socket& socket, std::string_view host,
                                               std::string_view service, const happy_eyeballs& how)
    : connect_race_operation(socket, how) {
  race_->ask_for(host, service);
}

connect_race_operation::~connect_race_operation() {
  if (race_ != nullptr) race_->drop();
}

void connect_race_operation::add(const ip::tcp::endpoint& endpoint) { race_->add(endpoint); }

any_io_executor connect_race_operation::get_executor() const noexcept { return race_->home(); }

void connect_race_operation::initiate(handler done) { race_->start(static_cast<handler&&>(done)); }

void connect_race_operation::cancel() noexcept { race_->request_stop(); }

}  // namespace beck::detail
