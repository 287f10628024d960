// SPDX-License-Identifier: BSL-1.0
// How a child process begins: its arguments, environment, directory and standard streams.
#pragma once

#include <initializer_list>
#include <string_view>

#include <beck/io/pipe.hpp>

namespace beck {

class process_options;

namespace detail {
struct text_list;

/// A list of texts, copied: arguments of a program, or variables as "NAME=value". Made from a
/// braced list or any range of texts (std::vector<std::string>, an array of const char*).
/// A value.
class process_texts {
 public:
  process_texts() noexcept = default;
  /// Implicit: `{"-r", "file"}` reads well.
  process_texts(std::initializer_list<std::string_view> texts) : process_texts() {
    begin();
    for (const std::string_view& text : texts) add(text);
  }
  /// Double braces would make one text from the begin and the end of two.
  process_texts(std::initializer_list<std::initializer_list<const char*>> texts) = delete;
  template <class Range>
    requires requires(const Range& r) { std::string_view(*r.begin()); }
  process_texts(const Range& texts) : process_texts() {
    begin();
    for (const auto& text : texts) add(std::string_view(text));
  }
  template <std::convertible_to<std::string_view> Text, std::size_t Size>
  process_texts(const Text (&texts)[Size]) : process_texts() {
    begin();
    for (const Text& text : texts) add(text);
  }
  process_texts(process_texts&& other) noexcept : list_(std::exchange(other.list_, nullptr)) {}
  process_texts(const process_texts& other);
  process_texts& operator=(process_texts other) noexcept {
    std::swap(list_, other.list_);
    return *this;
  }
  ~process_texts();

  /// Throws std::bad_alloc.
  void add(std::string_view text);
  /// Returns the list, or nullptr if none was set.
  const text_list* list() const noexcept { return list_; }

 private:
  void begin();

  text_list* list_ = nullptr;
};

/// The kind of a standard stream of a child. Pipes are passed closed: the program's end is opened
/// by the spawn, and the child's end is the child's alone.
class process_stream {
 public:
  enum class kind : unsigned char { inherited, null, handle, pipe, output };

  kind what() const noexcept { return what_; }
  int handle() const noexcept { return handle_; }
  descriptor* slot() const noexcept { return slot_; }

 protected:
  explicit process_stream(kind what, int handle = -1, descriptor* slot = nullptr) noexcept
      : what_(what), handle_(handle), slot_(slot) {}

 private:
  kind what_;
  int handle_;
  descriptor* slot_;
};

/// Standard input.
class process_input : public process_stream {
 public:
  /// The program's own.
  process_input() noexcept : process_stream(kind::inherited) {}
  /// /dev/null: reads are at the end.
  process_input(std::nullptr_t) noexcept : process_stream(kind::null) {}
  /// A duplicate of this descriptor.
  process_input(int handle) noexcept : process_stream(kind::handle, handle) {}
  /// The bytes that the program writes to `pipe`.
  template <class Executor>
  process_input(basic_writable_pipe<Executor>& pipe) noexcept  // implicit: `in(pipe)` reads well
      : process_stream(kind::pipe, -1, pipe.slot_to_open()) {}
};

/// Standard output, or the one for errors.
class process_output : public process_stream {
 public:
  /// The program's own.
  process_output() noexcept : process_stream(kind::inherited) {}
  /// /dev/null: writes are dropped.
  process_output(std::nullptr_t) noexcept : process_stream(kind::null) {}
  /// A duplicate of this descriptor.
  process_output(int handle) noexcept : process_stream(kind::handle, handle) {}
  /// The program reads the output from `pipe`.
  template <class Executor>
  process_output(basic_readable_pipe<Executor>& pipe) noexcept
      : process_stream(kind::pipe, -1, pipe.slot_to_open()) {}

 private:
  friend class beck::process_options;
  explicit process_output(kind what) noexcept : process_stream(what) {}
};

}  // namespace detail

/// The options of process::spawn(). Every setter returns the object. By default the child has the
/// streams, environment and directory of this program. Pipes that are named here must outlive the
/// spawn.
class process_options {
 public:
  /// Makes the defaults.
  process_options() noexcept = default;

  /// Sets standard input: nullptr for /dev/null, a descriptor to duplicate, or a closed
  /// writable_pipe, which the spawn opens.
  process_options& in(detail::process_input stream) noexcept {
    streams_[0] = stream;
    return *this;
  }
  /// Sets standard output: nullptr for /dev/null, a descriptor to duplicate, or a closed
  /// readable_pipe, which the spawn opens.
  process_options& out(detail::process_output stream) noexcept {
    streams_[1] = stream;
    return *this;
  }
  /// Sets standard error; else as out().
  process_options& err(detail::process_output stream) noexcept {
    streams_[2] = stream;
    return *this;
  }
  /// Sends standard error where standard output goes: the shell's 2>&1.
  process_options& err_to_out() noexcept {
    return err(detail::process_output(detail::process_stream::kind::output));
  }
  /// Replaces the environment. A program without a slash is still searched in the PATH of this
  /// program.
  process_options& environment(detail::process_texts variables) noexcept {
    environment_ = static_cast<detail::process_texts&&>(variables);
    return *this;
  }
  /// Sets variables, as "NAME=value", in addition to the environment.
  process_options& variables(detail::process_texts changed) noexcept {
    variables_ = static_cast<detail::process_texts&&>(changed);
    return *this;
  }
  /// Sets the directory in which the process begins; a program with a relative path is searched
  /// there. The text must outlive the spawn.
  process_options& directory(std::string_view path) noexcept {
    directory_ = path;
    return *this;
  }

  /// Returns the stream 0, 1 or 2.
  const detail::process_stream& stream(int number) const noexcept { return streams_[number]; }
  /// Returns the environment that was set.
  const detail::process_texts& environment() const noexcept { return environment_; }
  /// Returns the variables that were set.
  const detail::process_texts& variables() const noexcept { return variables_; }
  /// Returns the directory that was set; empty if none was.
  std::string_view directory() const noexcept { return directory_; }

 private:
  detail::process_stream streams_[3] = {detail::process_input(), detail::process_output(),
                                        detail::process_output()};
  detail::process_texts environment_;
  detail::process_texts variables_;
  std::string_view directory_;
};

}  // namespace beck
