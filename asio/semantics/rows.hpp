// SPDX-License-Identifier: BSL-1.0
// Rows of the table of semantics. A row is a name and one line of text: an observation that a
// program can make in Asio's names, which depends neither on time nor on ports or descriptors. The
// sources are compiled with Asio and with the facade; table.py compares the texts.
#pragma once

#if defined(BECK_SEMANTICS_OF_ASIO)
#define ASIO_HAS_CO_AWAIT 1
#define ASIO_HAS_STD_COROUTINE 1
#endif

#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include <asio.hpp>

#if defined(BECK_SEMANTICS_OF_ASIO)
#include <asio/experimental/as_tuple.hpp>
#endif

namespace semantics {

using observation = std::string (*)();

/// Adds a row. Names are unique.
bool add(const char* name, observation observe);

#define SEMANTICS_JOIN_(a, b) a##b
#define SEMANTICS_JOIN(a, b) SEMANTICS_JOIN_(a, b)
#define SEMANTICS_ROW(name, function)                                      \
  static std::string function();                                           \
  [[maybe_unused]] static const bool SEMANTICS_JOIN(function, _is_added) = \
      ::semantics::add(name, function);                                    \
  static std::string function()
/// A function that returns the text of a row.
#define ROW(name) SEMANTICS_ROW(name, SEMANTICS_JOIN(row_, __COUNTER__))

/// Returns the name that programs have for an error, or its category, value and message.
std::string name_of(const asio::error_code& ec);

inline void put(std::ostream& out, const asio::error_code& ec) { out << name_of(ec); }
template <class T>
void put(std::ostream& out, const T& value) {
  out << value;
}

/// Returns the parts as one text, with ", " between them.
template <class First, class... Rest>
std::string line(First first, Rest... rest) {
  std::ostringstream out;
  out << std::boolalpha;
  put(out, first);
  ((out << ", ", put(out, rest)), ...);
  return out.str();
}

/// Returns the kind of an exception: the code of a system_error, else the standard class.
std::string kind_of(std::exception_ptr thrown);

/// Calls `function`, and returns the kind of its exception, or "nothing thrown".
template <class Function>
std::string thrown_by(Function&& function) {
  try {
    static_cast<Function&&>(function)();
  } catch (...) {
    return kind_of(std::current_exception());
  }
  return "nothing thrown";
}

/// Words that are added one by one.
class trace {
 public:
  template <class T>
  trace& operator<<(const T& word) {
    if (!text_.empty()) text_ += ' ';
    text_ += line(word);
    return *this;
  }
  operator std::string() const { return text_.empty() ? "nothing" : text_; }
  friend std::ostream& operator<<(std::ostream& out, const trace& t) {
    return out << std::string(t);
  }

 private:
  std::string text_;
};

inline asio::ip::tcp::endpoint any_port() { return {asio::ip::address_v4::loopback(), 0}; }

/// Two connected sockets of TCP.
struct tcp_pair {
  explicit tcp_pair(asio::io_context& context) : near(context), far(context) {
    asio::ip::tcp::acceptor acceptor(context, any_port());
    near.connect(acceptor.local_endpoint());
    acceptor.accept(far);
  }
  asio::ip::tcp::socket near;
  asio::ip::tcp::socket far;
};

/// Two connected UNIX sockets.
struct local_pair {
  explicit local_pair(asio::io_context& context) : near(context), far(context) {
    asio::local::connect_pair(near, far);
  }
  asio::local::stream_protocol::socket near;
  asio::local::stream_protocol::socket far;
};

/// A handler that stores its error.
inline auto store(asio::error_code& ec) {
  return [&ec](const asio::error_code& result, auto&&...) { ec = result; };
}
/// A handler that adds a word and its error.
inline auto note(trace& words, const char* word) {
  return [&words, word](const asio::error_code& result, auto&&...) {
    words << (std::string(word) + ":" + name_of(result));
  };
}
/// A handler of an operation with a size, which is added, too.
inline auto note_size(trace& words, const char* word) {
  return [&words, word](const asio::error_code& result, std::size_t n) {
    words << (std::string(word) + ":" + name_of(result) + ":" + std::to_string(n));
  };
}

}  // namespace semantics
