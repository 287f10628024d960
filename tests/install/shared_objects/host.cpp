// SPDX-License-Identifier: BSL-1.0
// A program without beck that loads shared objects, each with a copy of it. Exits with 0 if all can
// be loaded at once and used from other threads, and if the signal handler of a copy outlives
// neither its use nor its code.
//   host PLUGIN PLUGIN...
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

int failures = 0;

void expect(bool holds, const char* sentence) {
  if (holds) return;
  std::fprintf(stderr, "this does not hold: %s\n", sentence);
  ++failures;
}

// A loaded shared object. It is used by threads that end, because the data of a thread that lives
// keeps it loaded.
class plugin {
 public:
  explicit plugin(const char* path) : path_(path), handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ != nullptr) return;
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
  int run() { return call("plugin_run"); }
  void watch() { call("plugin_watch"); }
  int seen() { return call("plugin_seen"); }
  void unwatch() { call("plugin_unwatch"); }
  void unload() { dlclose(handle_); }
  bool is_loaded() const {
    void* const found = dlopen(path_, RTLD_NOW | RTLD_NOLOAD);
    if (found != nullptr) dlclose(found);
    return found != nullptr;
  }

 private:
  int call(const char* name) {
    auto* const found = reinterpret_cast<int (*)()>(dlsym(handle_, name));
    if (found == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::exit(1);
    }
    int result = 0;
    std::thread([&] { result = found(); }).join();
    return result;
  }

  const char* path_;
  void* handle_;
};

// Runs `body` in a child of fork; returns the signal that ended it, 0 if it returned.
template <class Body>
int signal_that_ends(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(failures);
  }
  int status = 0;
  waitpid(child, &status, 0);
  expect(!WIFEXITED(status) || WEXITSTATUS(status) == 0, "what a child has checked");
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

volatile sig_atomic_t own_calls = 0;
void own_handler(int) { own_calls = own_calls + 1; }

void check_loading(const std::vector<const char*>& paths) {
  std::vector<plugin> all;
  for (const char* path : paths) all.emplace_back(path);
  for (plugin& each : all) {
    expect(each.run() == 1, "a copy runs in a thread");
    expect(each.run() == 1, "a copy runs in another thread");
  }
  for (plugin& each : all) each.unload();
  for (const plugin& each : all) expect(!each.is_loaded(), "a copy is unloaded");
}

void check_signals(const char* first_path, const char* second_path) {
  const int in_order = signal_that_ends([=] {
    plugin first(first_path);
    plugin second(second_path);
    first.watch();
    second.watch();
    raise(SIGUSR1);
    expect(second.seen() == 1, "the copy that asked last has the signal");
    second.unwatch();
    second.unload();
    raise(SIGUSR1);
    expect(first.seen() == 1, "then the other one has it");
    first.unwatch();
    first.unload();
    expect(!first.is_loaded() && !second.is_loaded(), "copies that left in order are unloaded");
    raise(SIGUSR1);
  });
  expect(in_order == SIGUSR1, "copies that leave in order leave the default action");

  const int out_of_order = signal_that_ends([=] {
    plugin first(first_path);
    plugin second(second_path);
    first.watch();
    second.watch();
    first.unwatch();
    first.unload();
    raise(SIGUSR1);
    expect(second.seen() == 1, "a copy has the signal after the one below it left");
    second.unwatch();
    second.unload();
    raise(SIGUSR1);
  });
  expect(out_of_order == SIGUSR1, "the handler of a copy does not outlive both");

  const int again = signal_that_ends([=] {
    std::signal(SIGUSR1, &own_handler);
    plugin first(first_path);
    plugin second(second_path);
    for (int round = 0; round < 2; ++round) {
      first.watch();
      second.watch();
      first.unwatch();
      first.watch();
      raise(SIGUSR1);
      expect(first.seen() == 1, "a copy that comes back has the signal");
      second.unwatch();
      first.unwatch();
      raise(SIGUSR1);
      expect(own_calls == round + 1, "the program's handler has the signal again");
    }
  });
  expect(again == 0, "copies that come back end");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<const char*> paths(argv + 1, argv + argc);
  if (paths.size() < 2) return 2;
  check_signals(paths[0], paths[1]);
  check_loading(paths);
  std::printf("%zu shared objects\n", paths.size());
  return failures == 0 ? 0 : 1;
}
