// SPDX-License-Identifier: BSL-1.0
// Objects with a default token: `use_awaitable_t<>::as_default_on_t<steady_timer>` is a timer whose
// functions, started without a token, throw errors in a coroutine. With Asio's names and meaning.
// Here are timers, signals, pipes, descriptors and files; sockets are in default_token_net.hpp.
#pragma once

#include <beck/detail/executor_with_token.hpp>
#include <beck/detail/functions.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/file/stream_file.hpp>
#include <beck/io/pipe.hpp>
#include <beck/io/read_until.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/signal_set.hpp>
#include <beck/io/stream_descriptor.hpp>
#include <beck/io/timer_object.hpp>
#include <beck/run/default_completion_token.hpp>

// An object with a default token is one of the library's own class, which it is derived from, and
// adds no data: it goes wherever the plain object goes, it is made and moved from one, and a plain
// object is moved from it. The functions that Asio has start with the default token; those that
// only this library has and that are not named here return the operation, as those of the plain
// class do. The token is default-constructed for each operation.

namespace beck {

namespace detail {

namespace functions {

/// Starts `operation` with the token, by default with that of an object of class `Object`.
template <class Object, class Op, class... Token>
  requires(sizeof...(Token) <= 1)
auto start_by_default(Op&& operation, Token&&... token) {
  if constexpr (sizeof...(Token) == 0) {
    return static_cast<Op&&>(operation)(
        default_completion_token_t<typename Object::executor_type>());
  } else {
    return static_cast<Op&&>(operation)(static_cast<Token&&>(token)...);
  }
}

}  // namespace functions

/// The part that all objects with a default token share. `Plain`: the class without.
template <class Plain, class Executor>
class object_with_token : public Plain {
 public:
  using executor_type = Executor;

  using Plain::Plain;
  /// Moves a plain object.
  object_with_token(Plain&& plain) noexcept : Plain(static_cast<Plain&&>(plain)) {}

  executor_type get_executor() const noexcept { return executor_type(Plain::get_executor()); }

 protected:
  template <class Op, class... Token>
  static auto start(Op&& operation, Token&&... token) {
    return detail::start_by_default<object_with_token>(static_cast<Op&&>(operation),
                                                       static_cast<Token&&>(token)...);
  }
};

/// Adds the functions for waiting.
template <class Base>
class waits_by_default : public Base {
 public:
  using Base::Base;

  template <class... Token>
  auto async_wait(typename Base::wait_type what, Token&&... token) {
    return this->start(Base::async_wait(what, deferred), static_cast<Token&&>(token)...);
  }
};

/// Adds the functions for reading.
template <class Base>
class reads_by_default : public Base {
 public:
  using Base::Base;

  template <class Buffers, class... Token>
  auto async_read_some(const Buffers& buffers, Token&&... token) {
    return this->start(Base::async_read_some(buffers, deferred), static_cast<Token&&>(token)...);
  }
};

/// Adds the functions for writing.
template <class Base>
class writes_by_default : public Base {
 public:
  using Base::Base;

  template <class Buffers, class... Token>
  auto async_write_some(const Buffers& buffers, Token&&... token) {
    return this->start(Base::async_write_some(buffers, deferred), static_cast<Token&&>(token)...);
  }
};

/// Streams over descriptors: async_read() and the like have overloads of their own for them.
template <class Base>
concept default_stream = std::is_base_of_v<stream_object, Base>;

// --- timers and signals --------------------------------------------------------------------------
template <clock_kind Clock, class Token, class Inner>
class rebound<basic_timer<Clock>, executor_with_token<Token, Inner>>
    : public object_with_token<basic_timer<Clock>, executor_with_token<Token, Inner>> {
  using base = typename rebound::object_with_token;

 public:
  using base::base;

  template <class... Given>
  auto async_wait(Given&&... token) {
    return this->start(base::async_wait(deferred), static_cast<Given&&>(token)...);
  }
};

template <class Token, class Inner>
class rebound<signal_set, executor_with_token<Token, Inner>>
    : public object_with_token<signal_set, executor_with_token<Token, Inner>> {
  using base = typename rebound::object_with_token;

 public:
  using base::base;

  template <class... Given>
  auto async_wait(Given&&... token) {
    return this->start(base::async_wait(deferred), static_cast<Given&&>(token)...);
  }
  template <class... Given>
  auto async_wait_info(Given&&... token) {
    return this->start(base::async_wait_info(deferred), static_cast<Given&&>(token)...);
  }
};

// --- pipes and descriptors -----------------------------------------------------------------------
template <class Plain, class Executor>
using reading_object = reads_by_default<object_with_token<Plain, Executor>>;
template <class Plain, class Executor>
using writing_object = writes_by_default<object_with_token<Plain, Executor>>;
template <class Plain, class Executor>
using stream_with_token = writes_by_default<reading_object<Plain, Executor>>;

}  // namespace detail

/// The read end of a pipe with a default token.
template <class Token, class Inner>
class basic_readable_pipe<detail::executor_with_token<Token, Inner>>
    : public detail::reading_object<basic_readable_pipe<Inner>,
                                    detail::executor_with_token<Token, Inner>> {
 public:
  using basic_readable_pipe::reads_by_default::reads_by_default;
};
/// The write end of a pipe with a default token.
template <class Token, class Inner>
class basic_writable_pipe<detail::executor_with_token<Token, Inner>>
    : public detail::writing_object<basic_writable_pipe<Inner>,
                                    detail::executor_with_token<Token, Inner>> {
 public:
  using basic_writable_pipe::writes_by_default::writes_by_default;
};

namespace posix {

/// A stream descriptor with a default token.
template <class Token, class Inner>
class basic_stream_descriptor<beck::detail::executor_with_token<Token, Inner>>
    : public beck::detail::waits_by_default<beck::detail::stream_with_token<
          basic_stream_descriptor<Inner>, beck::detail::executor_with_token<Token, Inner>>> {
 public:
  using basic_stream_descriptor::waits_by_default::waits_by_default;
};

}  // namespace posix

/// A stream file with a default token.
template <class Token, class Inner>
class basic_stream_file<detail::executor_with_token<Token, Inner>>
    : public detail::stream_with_token<basic_stream_file<Inner>,
                                       detail::executor_with_token<Token, Inner>> {
 public:
  using basic_stream_file::writes_by_default::writes_by_default;
};

/// A random-access file with a default token.
template <class Token, class Inner>
class basic_random_access_file<detail::executor_with_token<Token, Inner>>
    : public detail::object_with_token<basic_random_access_file<Inner>,
                                       detail::executor_with_token<Token, Inner>> {
  using base = typename basic_random_access_file::object_with_token;

 public:
  using base::base;

  /// Reads at an offset, as the plain file.
  template <class Buffers, class... Given>
  auto async_read_some_at(std::uint64_t offset, const Buffers& buffers, Given&&... token) {
    return this->start(base::async_read_some_at(offset, buffers, deferred),
                       static_cast<Given&&>(token)...);
  }
  /// Writes at an offset, as the plain file.
  template <class Buffers, class... Given>
  auto async_write_some_at(std::uint64_t offset, const Buffers& buffers, Given&&... token) {
    return this->start(base::async_write_some_at(offset, buffers, deferred),
                       static_cast<Given&&>(token)...);
  }
};

// --- reads and writes of several steps, without a token ------------------------------------------
/// As the function for plain streams, with the stream's default token.
template <detail::default_stream Base, mutable_buffer_sequence S>
auto async_read(detail::reads_by_default<Base>& stream, const S& buffers) {
  return detail::start_by_default<Base>(
      beck::async_read(static_cast<detail::stream_object&>(stream), buffers));
}
/// As above, until `condition` is met.
template <detail::default_stream Base, mutable_buffer_sequence S, detail::completion_condition C>
auto async_read(detail::reads_by_default<Base>& stream, const S& buffers, C condition) {
  return detail::start_by_default<Base>(beck::async_read(
      static_cast<detail::stream_object&>(stream), buffers, static_cast<C&&>(condition)));
}
/// As the function for plain streams, with the stream's default token.
template <detail::default_stream Base, const_buffer_sequence S>
auto async_write(detail::writes_by_default<Base>& stream, const S& buffers) {
  return detail::start_by_default<Base>(
      beck::async_write(static_cast<detail::stream_object&>(stream), buffers));
}
/// As above, until `condition` is met.
template <detail::default_stream Base, const_buffer_sequence S, detail::completion_condition C>
auto async_write(detail::writes_by_default<Base>& stream, const S& buffers, C condition) {
  return detail::start_by_default<Base>(beck::async_write(
      static_cast<detail::stream_object&>(stream), buffers, static_cast<C&&>(condition)));
}
/// As the function for plain streams, with the stream's default token.
template <detail::default_stream Base, class Delimiter>
auto async_read_until(detail::reads_by_default<Base>& stream, const dynamic_buffer_ref& buffer,
                      Delimiter&& delimiter) {
  return detail::start_by_default<Base>(beck::async_read_until(
      static_cast<detail::stream_object&>(stream), buffer, static_cast<Delimiter&&>(delimiter)));
}

/// As the function for plain files, with the file's default token.
template <class Token, class Inner, detail::whole_read_buffer B>
auto async_read_at(basic_random_access_file<detail::executor_with_token<Token, Inner>>& file,
                   std::uint64_t offset, const B& buffer) {
  basic_random_access_file<Inner>& plain = file;
  return beck::async_read_at(plain, offset, buffer, deferred)(Token());
}
/// As the function for plain files, with the file's default token.
template <class Token, class Inner, detail::whole_write_buffer B>
auto async_write_at(basic_random_access_file<detail::executor_with_token<Token, Inner>>& file,
                    std::uint64_t offset, const B& buffer) {
  basic_random_access_file<Inner>& plain = file;
  return beck::async_write_at(plain, offset, buffer, deferred)(Token());
}

}  // namespace beck
