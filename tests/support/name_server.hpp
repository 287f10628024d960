// SPDX-License-Identifier: BSL-1.0
// The name server of a conformance case. On real backends a scripted system answers lookups, so
// that no case depends on the machine's network; in a simulation the world does, whose hosts are
// the names.
#pragma once

#include <netdb.h>

#include <condition_variable>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <beck/net/address.hpp>
#include <beck/net/ip_endpoint.hpp>

#include "io/system/posix_system.hpp"
#include "io/system/requests.hpp"
#include "support/context_seam.hpp"
#include "support/machine.hpp"

namespace beck::test {
using namespace detail;

/// Decides when a server may answer, and counts the questions. It outlives the context that asks.
class turns {
 public:
  void be_silent() {
    const std::lock_guard lock(mutex_);
    silent_ = true;
  }
  void speak() {
    const std::lock_guard lock(mutex_);
    silent_ = false;
    changed_.notify_all();
  }
  void expect_asked(int times) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asked_ >= times; });
  }
  int asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  void wait_for_one() {
    std::unique_lock lock(mutex_);
    ++asked_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !silent_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool silent_ = false;
  int asked_ = 0;
};

/// A system that looks names up in `hosts`, and knows one service by name: http.
class scripted_names final : public posix_system {
 public:
  explicit scripted_names(turns& when) : turns_(when) {}

  std::map<std::string, std::vector<std::string>> hosts;
  int status = 0;  ///< the result of every lookup, if it is not 0

  int look_up(const name_question& question, name_sink& sink) noexcept override {
    turns_.wait_for_one();
    if (status != 0) return status;
    if (question.host == nullptr) return -(EAI_NONAME);
    ip::port_type port = 0;
    if (const int refused = read_service(question, port); refused != 0) return refused;
    const auto known = hosts.find(question.host);
    if ((question.flags & AI_NUMERICHOST) != 0 || known == hosts.end()) return -(EAI_NONAME);
    if ((question.flags & AI_CANONNAME) != 0) sink.canonical_name("www.example.org");
    bool found = false;
    for (const std::string& text : known->second) {
      const ip::socket_address address(ip::make_address(text), port);
      const int family = address.is_v6() ? AF_INET6 : AF_INET;
      if (question.family != AF_UNSPEC && question.family != family) continue;
      sink.address(address.data(), address.size());
      found = true;
    }
    return found ? 0 : -(EAI_NONAME);
  }

 private:
  static int read_service(const name_question& question, ip::port_type& port) {
    if (question.service == nullptr) return 0;
    const std::string text(question.service);
    if (text.find_first_not_of("0123456789") == text.npos) {
      port = static_cast<ip::port_type>(std::atoi(text.c_str()));
    } else if ((question.flags & AI_NUMERICSERV) != 0) {
      return -(EAI_NONAME);
    } else if (text == "http") {
      port = 80;
    } else {
      return -(EAI_SERVICE);
    }
    return 0;
  }

  turns& turns_;
};

/// A context and its name server. `there` is a host with two addresses, an IPv6 address first.
class named_machine {
 public:
  explicit named_machine(int threads = 1)
      : ctx_(std::make_unique<io_context>(here_.options({.threads = threads}))) {
    if (is_virtual()) {
      here_.world().host("there");
      v6_ = "fd00::2";
      v4_ = "10.0.0.2";
      return;
    }
    auto system = std::make_unique<scripted_names>(turns_);
    script_ = system.get();
    testing::context_seam::replace_system(*ctx_, std::move(system));
    script_->hosts["there"] = {v6_, v4_};
  }

  static bool is_virtual() { return current_backend() == on_sim; }
  io_context& ctx() { return *ctx_; }
  machine& here() { return here_; }
  const std::string& v6() const { return v6_; }
  const std::string& v4() const { return v4_; }

  /// Lets lookups from now on take long.
  void be_silent() {
    if (!is_virtual()) return turns_.be_silent();
    here_.host().inject(testing::sim::fault::call_slow, 1000);
  }
  void speak() { turns_.speak(); }
  /// Lets the next lookups fail with `status`, the positive value of an error of getaddrinfo(3). In
  /// a simulation it can only be EAI_AGAIN.
  void fail(int status) {
    if (script_ != nullptr) {
      script_->status = status;
    } else {
      here_.host().inject(testing::sim::fault::lookup_failed, 1000);
    }
  }
  void expect_asked(int times) {
    if (!is_virtual()) turns_.expect_asked(times);
  }
  int asked() { return turns_.asked(); }

  /// Destroys the context while a call is inside the name server, which answers later.
  void destroy_context() {
    std::thread speaker([this] { speak(); });
    ctx_.reset();
    speaker.join();
  }

 private:
  turns turns_;
  machine here_;
  std::unique_ptr<io_context> ctx_;
  scripted_names* script_ = nullptr;
  std::string v6_ = "::1", v4_ = "127.0.0.1";
};

}  // namespace beck::test
