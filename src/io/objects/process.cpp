// SPDX-License-Identifier: BSL-1.0
// Processes: which object owns a child, and how its exit status is collected. Several waits for one
// child share the status that the first of them has collected.
#include <beck/io/process.hpp>

#include <cerrno>
#include <csignal>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "base/fork_count.hpp"
#include "io/loop/io_loop.hpp"
#include "io/system/requests.hpp"

namespace beck {
using namespace detail;

// --- texts -------------------------------------------------------------------------------------

struct detail::text_list {
  std::vector<std::string> texts;
};

process_texts::process_texts(const process_texts& other)
    : list_(other.list_ == nullptr ? nullptr : new text_list(*other.list_)) {}
process_texts::~process_texts() { delete list_; }
void process_texts::begin() { list_ = new text_list; }
void process_texts::add(std::string_view text) {
  if (list_ == nullptr) begin();
  list_->texts.emplace_back(text.data(), text.size());
}

// --- the state of a child -----------------------------------------------------------------------

/// The state of a child, shared by its process object and the waits for it.
struct detail::child_state {
  explicit child_state(system& of) noexcept : sys(of), forks(fork_count()) {}

  /// Returns whether this process made the child. If not, this process was forked later: the child
  /// belongs to our parent, and `mutex` may stay locked for ever.
  bool is_ours() const noexcept { return forks == known_fork_count(); }

  /// Returns 0 and sets `status` if the child has ended; returns -EAGAIN while it runs, or another
  /// error. `known`: the caller knows that it has ended.
  int collect(bool known) noexcept {
    if (!is_ours()) return result == -EAGAIN ? -ECHILD : result;
    const std::lock_guard lock(mutex);
    if (result == -EAGAIN) {
      result = handle < 0 ? -ECANCELED : sys.collect_child(handle, known, status);
    }
    return result;
  }
  int signal(int number) noexcept {
    if (!is_ours()) return handle < 0 ? -EBADF : sys.signal_child(handle, number);
    const std::lock_guard lock(mutex);
    if (handle < 0) return -EBADF;
    return result == -EAGAIN ? sys.signal_child(handle, number) : -ESRCH;
  }
  /// Gives up the handle, and kills the child first if `end_it` is set. Returns whether the child
  /// must still be collected.
  bool leave(bool end_it) noexcept {
    if (!is_ours()) {
      handle = -1;
      return false;
    }
    if (end_it) signal(SIGKILL);
    const bool runs = collect(false) == -EAGAIN;
    const std::lock_guard lock(mutex);
    handle = -1;
    return runs;
  }

  ref_count holders;
  system& sys;  // not used once the handle is gone
  int pid = -1;
  const unsigned forks;
  std::mutex mutex;
  int handle = -1;
  int result = -EAGAIN;
  exit_status status;
};

child_ref::child_ref(const child_ref& other) noexcept : state_(other.state_) {
  if (state_ != nullptr) state_->holders.add();
}

child_ref::~child_ref() {
  if (state_ != nullptr && state_->holders.drop()) delete state_;
}

io_result<exit_status> process_wait_operation::await_resume() noexcept {
  if (result < 0) return {error(), exit_status()};
  child_state* const child = child_.get();
  const int collected = child == nullptr ? -EBADF : child->collect(true);
  return {make_error(collected), collected < 0 ? exit_status() : child->status};
}

// --- spawning -----------------------------------------------------------------------------------

namespace {

/// A list of texts in the form that execve(2) takes.
class text_vector {
 public:
  void add(std::string text) { texts_.push_back(std::move(text)); }
  void add(const text_list* list) {
    if (list == nullptr) return;
    for (const std::string& text : list->texts) add(text);
  }
  /// Adds the variables of `from`, without those that `changed` sets. Compares the names before
  /// '='.
  void add_unchanged(const char* const* from, const text_list& changed) {
    for (; *from != nullptr; ++from) {
      const std::string_view text = *from;
      const std::string_view name = text.substr(0, text.find('='));
      bool sets = false;
      for (const std::string& other : changed.texts) {
        sets |= std::string_view(other).substr(0, other.find('=')) == name;
      }
      if (!sets) add(std::string(text));
    }
  }
  bool has_nul() const {
    for (const std::string& text : texts_) {
      if (text.find('\0') != std::string::npos) return true;
    }
    return false;
  }
  /// Returns the texts as a null-terminated array, valid until the next add().
  char* const* pointers() {
    pointers_.clear();
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
    return pointers_.data();
  }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

static_assert(static_cast<int>(process_stream::kind::inherited) ==
              static_cast<int>(spawn_request::stream::inherited));
static_assert(static_cast<int>(process_stream::kind::output) ==
              static_cast<int>(spawn_request::stream::output));

/// Owns all texts that a spawn_request points to.
struct prepared_spawn {
  prepared_spawn(std::string_view name, const process_texts& given, const process_options& how)
      : program(name), directory(how.directory()) {
    arguments.add(program);
    arguments.add(given.list());
    own_environment = how.environment().list() != nullptr || how.variables().list() != nullptr;
    if (!own_environment) return;
    const text_list none;
    const text_list& changed = how.variables().list() != nullptr ? *how.variables().list() : none;
    if (how.environment().list() == nullptr) {
      environment.add_unchanged(environ, changed);
    } else {
      text_vector base;
      base.add(how.environment().list());
      environment.add_unchanged(base.pointers(), changed);
    }
    environment.add(how.variables().list());
  }

  bool is_valid() const {
    return !program.empty() && !arguments.has_nul() && !environment.has_nul() &&
           directory.find('\0') == std::string::npos;
  }

  spawn_request request(const process_options& how) {
    spawn_request asked{program.c_str(),
                        arguments.pointers(),
                        own_environment ? environment.pointers() : nullptr,
                        directory.empty() ? nullptr : directory.c_str(),
                        {},
                        {}};
    for (int number = 0; number < 3; ++number) {
      const process_stream& stream = how.stream(number);
      asked.streams[number] = static_cast<spawn_request::stream>(stream.what());
      asked.handles[number] = stream.handle();
    }
    return asked;
  }

  std::string program;
  std::string directory;
  text_vector arguments;
  text_vector environment;
  bool own_environment = false;
};

/// Spawns a child into the slot `d`. Returns its state; on failure nullptr, with `ec` set, and
/// `bad_directory` if the working directory was the reason.
child_state* spawn_into(descriptor& d, prepared_spawn& prepared, const process_options& how,
                        error_code& ec, bool& bad_directory) {
  ec = make_error(openable(d));
  for (int number = 0; !ec && number < 3; ++number) {
    descriptor* const pipe = how.stream(number).slot();
    if (pipe != nullptr) ec = make_error(openable(*pipe));
  }
  const descriptor* const output = how.stream(1).slot();
  if (!ec && output != nullptr && output == how.stream(2).slot()) ec = error::already_open;
  if (!ec && !prepared.is_valid()) ec = error::invalid_argument;
  if (ec) return nullptr;
  spawned_child child;
  // Allocated before the child exists: a failure afterwards would have to end the child.
  auto made = std::make_unique<child_state>(d.loop->sys());
  ec = make_error(d.loop->sys().spawn(prepared.request(how), child));
  bad_directory = child.bad_directory;
  if (ec) return nullptr;
  made->pid = child.pid;
  made->handle = child.handle;
  d.loop->descriptors().open(d, child.handle, descriptor_nature::other);
  for (int number = 0; number < 3; ++number) {
    descriptor* const pipe = how.stream(number).slot();
    if (pipe != nullptr) {
      pipe->loop->descriptors().open(*pipe, child.ends[number], descriptor_nature::pipe);
    }
  }
  return made.release();
}

}  // namespace

process::process(io_context& context) : io_object(any_io_executor(context.get_executor())) {}
process::process(const any_io_executor& executor) : io_object(executor) {}
process::process(io_context& context, std::string_view program, const process_texts& arguments,
                 const options& how)
    : process(context) {
  spawn(program, arguments, how);
}
process::process(const any_io_executor& executor, std::string_view program,
                 const process_texts& arguments, const options& how)
    : process(executor) {
  spawn(program, arguments, how);
}

process& process::operator=(process&& other) noexcept {
  if (this == &other) return *this;
  give_up(true);
  io_object::operator=(static_cast<io_object&&>(other));
  child_ = static_cast<child_ref&&>(other.child_);
  return *this;
}

process::~process() { give_up(true); }

bool process::spawn_here(std::string_view program, const process_texts& arguments,
                         const options& how, error_code& ec) {
  descriptor& d = *slot_to_open();
  const object_use inside = use_of(d, "spawn");
  prepared_spawn prepared(program, arguments, how);
  bool bad_directory = false;
  child_state* const made = spawn_into(d, prepared, how, ec, bad_directory);
  if (made != nullptr) child_ = child_ref(made);
  return bad_directory;
}

void process::spawn(std::string_view program, const process_texts& arguments, const options& how,
                    error_code& ec) {
  spawn_here(program, arguments, how, ec);
}

void process::spawn(std::string_view program, const process_texts& arguments, const options& how) {
  error_code ec;
  const bool bad_directory = spawn_here(program, arguments, how, ec);
  if (ec && bad_directory) throw_error(ec, "spawn, directory", how.directory());
  if (ec) throw_error(ec, "spawn", program);
}

// --- waiting, signals, end ----------------------------------------------------------------------

int process::id() const noexcept { return is_open() ? child_.get()->pid : -1; }

exit_status process::wait(error_code& ec) {
  process_wait_operation op = async_wait();
  op.result = perform_now(op);
  const io_result<exit_status> ended = op.await_resume();
  ec = ended.error();
  return ended.value_;
}

exit_status process::wait() {
  error_code ec;
  const exit_status status = wait(ec);
  throw_if(ec, "wait");
  return status;
}

bool process::running(error_code& ec) noexcept {
  const int result = is_open() ? child_.get()->collect(false) : -EBADF;
  ec = make_error(result == -EAGAIN ? 0 : result);
  return result == -EAGAIN;
}

bool process::running() {
  error_code ec;
  const bool result = running(ec);
  throw_if(ec, "running");
  return result;
}

void process::send_signal(int number, error_code& ec) noexcept {
  ec = make_error(is_open() ? child_.get()->signal(number) : -EBADF);
}

void process::send_signal(int number) {
  error_code ec;
  send_signal(number, ec);
  throw_if(ec, "send_signal");
}

void process::terminate(error_code& ec) noexcept {
  send_signal(SIGKILL, ec);
  if (ec == errc::no_such_process) ec = error_code();
}

void process::terminate() {
  error_code ec;
  terminate(ec);
  throw_if(ec, "terminate");
}

void process::request_exit(error_code& ec) noexcept { send_signal(SIGTERM, ec); }
void process::request_exit() {
  error_code ec;
  request_exit(ec);
  throw_if(ec, "request_exit");
}

void process::interrupt(error_code& ec) noexcept { send_signal(SIGINT, ec); }
void process::interrupt() {
  error_code ec;
  interrupt(ec);
  throw_if(ec, "interrupt");
}

void process::detach() noexcept { give_up(false); }

void process::give_up(bool end_it) noexcept {
  if (!is_open()) return;
  // The close hands the handle over, because a new handle for the child could not be made where no
  // descriptor number is left.
  descriptor_->leaves_child = child_.get()->leave(end_it);
  child_ = child_ref();
  error_code ignored;
  close(ignored);
}

}  // namespace beck
