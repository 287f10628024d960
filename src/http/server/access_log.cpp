// SPDX-License-Identifier: BSL-1.0
// The lines of an access log. Bytes that are not printable ASCII, quotes and backslashes are
// written as \xHH, or in JSON as \u00HH: what a client has sent can end neither a line nor a quoted
// text.
#include <beck/http/access_log.hpp>

#include <atomic>
#include <charconv>
#include <ctime>
#include <utility>

#include <beck/io/system_timer.hpp>

#include "http/server/log_writer.hpp"

namespace beck::http {
namespace {

constexpr std::int64_t log_second_ns = 1'000'000'000;
constexpr std::size_t thrown_bytes_max = 500;

/// Appends to a line of one form.
class line_text {
 public:
  line_text(std::string& to, log_format format) noexcept : to_(to), format_(format) {}

  line_text& text(std::string_view known) {
    to_.append(known);
    return *this;
  }
  line_text& escaped(std::string_view foreign) {
    constexpr char digits[] = "0123456789abcdef";
    const std::string_view escape = format_ == log_format::json ? "\\u00" : "\\x";
    for (const char c : foreign) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\') {
        to_ += c;
      } else {
        to_.append(escape) += digits[byte >> 4U];
        to_ += digits[byte & 15U];
      }
    }
    return *this;
  }
  /// Appends a text in quotes; forms other than JSON write "-" for an empty one.
  line_text& quoted(std::string_view foreign) {
    const bool is_dash = foreign.empty() && format_ != log_format::json;
    return text("\"").escaped(is_dash ? "-" : foreign).text("\"");
  }
  /// Appends a number with zeros before it, so that it has `digits` digits at least.
  line_text& number(std::uint64_t value, std::size_t digits = 1) {
    char room[20];
    const std::size_t bytes =
        static_cast<std::size_t>(std::to_chars(room, room + sizeof room, value).ptr - room);
    for (std::size_t i = bytes; i < digits; ++i) to_ += '0';
    to_.append(room, bytes);
    return *this;
  }
  line_text& number(int value, std::size_t digits) {
    return number(static_cast<std::uint64_t>(value < 0 ? 0 : value), digits);
  }
  /// Appends seconds with six digits behind the point.
  line_text& seconds(duration time) {
    const auto ns = static_cast<std::uint64_t>(time.nanoseconds() < 0 ? 0 : time.nanoseconds());
    constexpr std::uint64_t second = log_second_ns;
    return number(ns / second).text(".").number(ns % second / 1000, 6);
  }

  // --- members of an object, but for the first
  line_text& name(std::string_view member) { return text(",\"").text(member).text("\":"); }
  line_text& member(std::string_view member, std::string_view foreign) {
    return name(member).quoted(foreign);
  }
  /// As member(), unless the text is empty.
  line_text& known_member(std::string_view member, std::string_view foreign) {
    return foreign.empty() ? *this : this->member(member, foreign);
  }

 private:
  std::string& to_;
  log_format format_;
};

/// A date in UTC.
struct date_parts {
  explicit date_parts(system_time_point at) {
    std::int64_t ns = (at - system_time_point()).nanoseconds();
    if (ns < 0) ns = 0;
    const auto seconds = static_cast<std::time_t>(ns / log_second_ns);
    ::gmtime_r(&seconds, &parts);
    milliseconds = static_cast<std::uint64_t>(ns % log_second_ns / 1'000'000);
  }

  std::tm parts = {};
  std::uint64_t milliseconds = 0;
};

void append_date(line_text& to, system_time_point at) {
  constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const date_parts date(at);
  to.number(date.parts.tm_mday, 2).text("/");
  to.text(months.substr(static_cast<std::size_t>(date.parts.tm_mon) * 3, 3)).text("/");
  to.number(date.parts.tm_year + 1900, 4).text(":").number(date.parts.tm_hour, 2);
  to.text(":").number(date.parts.tm_min, 2).text(":").number(date.parts.tm_sec, 2);
  to.text(" +0000");
}

/// Appends the client; peers of UNIX sockets have no address.
void append_client(line_text& to, const ip::address& client) {
  to.text(client.is_unspecified() ? "unix:" : std::string_view(client.to_text()));
}

void append_combined(line_text& to, const exchange_record& of, system_time_point at,
                     bool has_fields) {
  append_client(to, of.client);
  to.text(" - - [");
  append_date(to, at);
  to.text("] \"");
  if (of.request == nullptr) {
    to.text("-");
  } else {
    to.escaped(of.request->method_text()).text(" ").escaped(of.request->target());
    to.text(of.request->minor_version() == 0 ? " HTTP/1.0" : " HTTP/1.1");
  }
  to.text("\" ").number(of.status).text(" ").number(of.response_bytes);
  if (!has_fields) return;
  const request_head* const head = of.request;
  to.text(" ").quoted(head != nullptr ? head->get(field::referer) : std::string_view());
  to.text(" ").quoted(head != nullptr ? head->get(field::user_agent) : std::string_view());
}

void append_peer(line_text& to, const ip::tcp::endpoint& peer) {
  to.name("peer").text("\"");
  if (peer.port() == 0) {
    to.text("unix:");
  } else {
    const bool is_v6 = peer.address().is_v6();
    to.text(is_v6 ? "[" : "").text(std::string_view(peer.address().to_text()));
    to.text(is_v6 ? "]:" : ":").number(peer.port());
  }
  to.text("\"");
}

/// Begins an object with the members that each has.
void begin_object(line_text& to, const ip::address& client, const ip::tcp::endpoint& peer,
                  system_time_point at) {
  const date_parts date(at);
  to.text("{\"time\":\"").number(date.parts.tm_year + 1900, 4).text("-");
  to.number(date.parts.tm_mon + 1, 2).text("-").number(date.parts.tm_mday, 2).text("T");
  to.number(date.parts.tm_hour, 2).text(":").number(date.parts.tm_min, 2).text(":");
  to.number(date.parts.tm_sec, 2).text(".").number(date.milliseconds, 3).text("Z\"");
  to.name("client").text("\"");
  append_client(to, client);
  to.text("\"");
  append_peer(to, peer);
}

std::string text_of_thrown(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& known) {
    return std::string(known.what()).substr(0, thrown_bytes_max);
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

void append_object(line_text& to, const exchange_record& of, system_time_point at) {
  begin_object(to, of.client, of.peer, at);
  const request_head* const head = of.request;
  const auto field_text = [head](field f) {
    return head != nullptr ? head->get(f) : std::string_view();
  };
  to.member("method", head != nullptr ? head->method_text() : std::string_view());
  to.member("target", head != nullptr ? head->target() : std::string_view());
  to.name("status").number(of.status).name("sent_bytes").number(of.response_bytes);
  to.name("received_bytes").number(of.request_bytes).name("seconds").seconds(of.time);
  to.name("first_byte_seconds").seconds(of.first_byte).name("number").number(of.number);
  to.member("referer", field_text(field::referer));
  to.member("user_agent", field_text(field::user_agent));
  to.known_member("route", of.route).known_member("id", of.id);
  to.known_member("tls_version", of.security.version);
  to.known_member("tls_cipher", of.security.cipher);
  to.known_member("tls_server_name", of.security.server_name);
  if (of.security.is_resumed) to.name("tls_resumed").text("true");
  if (of.why != refusal::none) to.member("refusal", text_of(of.why));
  if (of.thrown) to.member("exception", text_of_thrown(of.thrown));
  if (of.cut) to.name("cut").text("true");
  to.text("}");
}

}  // namespace

void functions::append_log_line(std::string& to, log_format format, const exchange_record& ended,
                                system_time_point at) {
  line_text line(to, format);
  if (format == log_format::json) {
    append_object(line, ended, at);
  } else {
    append_combined(line, ended, at, format == log_format::combined);
  }
  line.text("\n");
}

void functions::append_log_line(std::string& to, log_format format, const handshake_record& failed,
                                system_time_point at) {
  if (format != log_format::json) return;
  line_text line(to, format);
  begin_object(line, failed.peer.address(), failed.peer, at);
  const bool is_told = !failed.error_text.empty();
  line.member("handshake", is_told ? std::string(failed.error_text) : failed.error.message());
  line.text("}\n");
}

struct access_log::state {
  state(std::string_view path, const access_log_options& how)
      : format(how.format), file(path, how.waiting_bytes, how.end_timeout) {}

  template <class Record>
  void add(const Record& one) noexcept {
    try {
      std::string line;
      append_log_line(line, format, one, system_now());
      if (!line.empty()) file.add(line);
    } catch (const std::exception&) {  // no memory
      file.lose_line();
    }
  }

  std::atomic<unsigned> users{1};
  const log_format format;
  detail::log_writer file;
};

access_log::access_log(std::string_view path, const access_log_options& how)
    : state_(new state(path, how)) {}
access_log::access_log(const access_log& other) noexcept : state_(other.state_) {
  state_->users.fetch_add(1, std::memory_order_relaxed);
}
access_log& access_log::operator=(const access_log& other) noexcept {
  access_log copy(other);
  std::swap(state_, copy.state_);
  return *this;
}
access_log::~access_log() {
  if (state_->users.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (state_->file.is_inherited()) {
    // The state stays: in a child its locks may be taken, and its thread does not exist.
    state_->file.close_inherited();
  } else {
    delete state_;
  }
}

void access_log::operator()(const exchange_record& ended) const noexcept { state_->add(ended); }
void access_log::operator()(const handshake_record& failed) const noexcept { state_->add(failed); }
void access_log::reopen() const noexcept { state_->file.reopen(); }
void access_log::close() const noexcept { state_->file.close(); }
std::uint64_t access_log::lost() const noexcept { return state_->file.lost(); }
error_code access_log::last_error() const noexcept { return state_->file.last_error(); }

}  // namespace beck::http
