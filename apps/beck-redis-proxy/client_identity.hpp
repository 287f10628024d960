// SPDX-License-Identifier: BSL-1.0
//
// What libraries of Redis say about themselves on each connection, and ask about it: the proxy
// answers that, because a connection that many clients share has no name and no library.
#pragma once

#include <beck/redis/arguments.hpp>
#include <beck/redis/reply_writer.hpp>
#include <beck/redis/request.hpp>
#include <beck/redis/resp3.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace beck_redis_proxy {

/// The words of HELLO.
struct hello_words {
  beck::redis::protocol version = beck::redis::protocol::resp2;
  std::string_view name;   ///< of SETNAME
  bool has_name = false;   ///< there is one
  bool has_login = false;  ///< AUTH, in any form
  std::string_view error;  ///< why redis-server refuses the words; empty: it does not
};

/// Returns the words of a HELLO by a client that speaks `present`. Pure.
hello_words read_hello(const beck::redis::arguments& command,
                       beck::redis::protocol present) noexcept;

/// The name, the library and the number of a client. Thread: one at a time.
class client_identity {
 public:
  /// Makes that of a new client; CLIENT ID returns the number.
  explicit client_identity(std::uint64_t number) noexcept : number_(number) {}

  std::uint64_t number() const noexcept { return number_; }
  /// Answers CLIENT with a subcommand that is about these, or that an older server does not know.
  /// Returns false, and answers nothing, for all others. Throws std::bad_alloc.
  bool answer(const beck::redis::arguments& command, beck::redis::reply_writer& to);
  /// Returns why a name cannot be set, as an error; empty if it can.
  static std::string refusal_of_name(std::string_view name);
  /// Sets the name. Requires that it is not refused.
  void set_name(std::string_view name) { name_ = name; }
  /// Adds the commands that say the same to a server, on a connection that is new.
  void repeat(beck::redis::protocol version, beck::redis::request& to) const;

 private:
  void set_library(std::string_view option, std::string_view text, beck::redis::reply_writer& to);

  std::string name_;
  std::string library_;
  std::string library_version_;
  std::uint64_t number_;
};

}  // namespace beck_redis_proxy
