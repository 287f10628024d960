// SPDX-License-Identifier: BSL-1.0
// A little of everything that the library does with the kernel, for processes whose kernel refuses
// a call: each activity comes to its end, with success or with an error that it notes.
#pragma once

#include <beck/beck.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/io/process.hpp>
#include <beck/net/resolver.hpp>
#include <beck/net/udp.hpp>
#include <beck/run/strand.hpp>
#include <beck/transfer/copy.hpp>
#include <beck/transfer/relay.hpp>
#include <beck/transfer/transmit.hpp>

#include <mutex>
#include <string>
#include <thread>

namespace beck::test {
using namespace detail;

class refused_work {
 public:
  /// Opens what several activities need. Throws if that is refused. `folder`: ends with a slash.
  refused_work(io_context& context, std::string folder);
  ~refused_work();
  refused_work(const refused_work&) = delete;
  refused_work& operator=(const refused_work&) = delete;

  void start();

  /// Once the context has run out of work.
  int started() const { return started_; }
  int ended() const { return ended_; }
  int failed() const { return failed_; }
  /// Activities that came to an end although their data was wrong.
  int wrong() const { return wrong_; }
  /// "what: error; what: error; "
  const std::string& errors() const { return errors_; }

 private:
  using stream = local::stream_protocol::socket;
  struct pair {
    explicit pair(io_context& context) : a(context), b(context) { connect_pair(a, b); }
    stream a;
    stream b;
  };

  void spawn(const char* what, awaitable<> activity);
  void expect(bool right);

  awaitable<> exchange_streams();
  awaitable<> connect_tcp();
  awaitable<> exchange_datagrams();
  awaitable<> wait_for_timers();
  awaitable<> use_pipe();
  awaitable<> use_file();
  awaitable<> copy_file();
  awaitable<> transmit_file();
  awaitable<> relay_streams();
  awaitable<> run_process();
  awaitable<> look_up_name();
  awaitable<> take_signal();
  awaitable<> take_post();

  awaitable<> send_text(stream_object& to);
  awaitable<> receive_text(stream_object& from);
  awaitable<> transmit(stream& to, random_access_file& from);
  awaitable<> relay(stream& a, stream& b);
  awaitable<> accept_one(ip::tcp::acceptor& acceptor);
  awaitable<> connect_one(ip::tcp::endpoint to);

  io_context& context_;
  const std::string folder_;
  const std::string text_;
  pair waiting_;  // opened before a call is refused
  signal_set signals_;
  std::mutex mutex_;  // activities of a shared context end on two threads
  std::thread poster_;
  int started_ = 0;
  int ended_ = 0;
  int failed_ = 0;
  int wrong_ = 0;
  std::string errors_;
};

}  // namespace beck::test
