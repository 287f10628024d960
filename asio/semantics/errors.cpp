// SPDX-License-Identifier: BSL-1.0
// Error codes, their categories and texts, and exceptions.
#include "rows.hpp"

namespace semantics::errors {

ROW("error: values of the misc errors") {
  return line(int(asio::error::already_open), int(asio::error::eof),
              asio::error_code(asio::error::not_found).value());
}
ROW("error: values of the basic errors") {
  return line(int(asio::error::operation_aborted) == ECANCELED,
              int(asio::error::connection_refused) == ECONNREFUSED,
              int(asio::error::would_block) == EWOULDBLOCK,
              int(asio::error::timed_out) == ETIMEDOUT, int(asio::error::message_size) == EMSGSIZE);
}
ROW("error: values of the resolver's errors") {
  return line(int(asio::error::host_not_found), int(asio::error::host_not_found_try_again),
              int(asio::error::no_data), int(asio::error::no_recovery));
}
ROW("error: name of the category of system errors") {
  return asio::error_code(asio::error::connection_reset).category().name();
}
ROW("error: name of the category of eof") {
  return asio::error_code(asio::error::eof).category().name();
}
ROW("error: name of the category of host_not_found") {
  return asio::error_code(asio::error::host_not_found).category().name();
}
ROW("error: name of the category of service_not_found") {
  return asio::error_code(asio::error::service_not_found).category().name();
}
ROW("error: text of eof") { return asio::error_code(asio::error::eof).message(); }
ROW("error: text of already_open") { return asio::error_code(asio::error::already_open).message(); }
ROW("error: text of not_found") { return asio::error_code(asio::error::not_found).message(); }
ROW("error: text of host_not_found") {
  return asio::error_code(asio::error::host_not_found).message();
}
ROW("error: text of host_not_found_try_again") {
  return asio::error_code(asio::error::host_not_found_try_again).message();
}
ROW("error: text of service_not_found") {
  return asio::error_code(asio::error::service_not_found).message();
}
ROW("error: text of operation_aborted") {
  return asio::error_code(asio::error::operation_aborted).message();
}
ROW("error: text of connection_refused") {
  return asio::error_code(asio::error::connection_refused).message();
}
ROW("error: text of no error") { return asio::error_code().message(); }
ROW("error: system errors are of std::system_category") {
  const asio::error_code ec = asio::error::connection_reset;
  return line(ec.category() == std::system_category(),
              ec.category() == asio::error::get_system_category());
}
ROW("error: eof is of the misc category") {
  const asio::error_code ec = asio::error::eof;
  return line(ec.category() == asio::error::get_misc_category());
}
ROW("error: a code of errno compares equal") {
  const asio::error_code ec(ECONNREFUSED, std::system_category());
  return line(ec == asio::error::connection_refused, ec == asio::error::connection_reset,
              ec == std::errc::connection_refused);
}
ROW("error: would_block and try_again are equal") {
  return line(asio::error_code(asio::error::try_again) == asio::error::would_block);
}
ROW("error: eof is no error of the system") {
  const asio::error_code ec = asio::error::eof;
  return line(ec == std::errc::no_such_file_or_directory, ec == asio::error::not_found,
              ec == asio::error::operation_aborted);
}
ROW("error: codes are std::error_code") {
  return line(std::is_same_v<asio::error_code, std::error_code>,
              std::is_base_of_v<std::system_error, asio::system_error>);
}
ROW("error: error enumerations make codes") {
  return line(std::is_error_code_enum<asio::error::basic_errors>::value,
              std::is_error_code_enum<asio::error::misc_errors>::value,
              std::is_error_code_enum<asio::error::netdb_errors>::value);
}
/// Returns the text with "PORT" for the port of an address that ends with 1.
std::string without_port(const std::string& text) {
  const std::size_t at = text.find("1:");
  if (at == std::string::npos) return text;
  return text.substr(0, at + 2) + "PORT" +
         text.substr(text.find_first_not_of("0123456789", at + 2));
}
ROW("error: a thrown error names its operation: connect") {
  asio::io_context context;
  asio::ip::tcp::acceptor acceptor(context, any_port());
  const auto place = acceptor.local_endpoint();
  acceptor.close();
  asio::ip::tcp::socket socket(context);
  try {
    socket.connect(place);
  } catch (const std::exception& e) {
    return without_port(e.what());
  }
  return "nothing thrown";
}
ROW("error: a thrown error names its operation: read_some") {
  asio::io_context context;
  local_pair pair(context);
  pair.far.close();
  char data[4];
  try {
    pair.near.read_some(asio::buffer(data));
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing thrown";
}
ROW("error: a thrown error names its operation: read") {
  asio::io_context context;
  local_pair pair(context);
  pair.far.close();
  char data[4];
  try {
    asio::read(pair.near, asio::buffer(data));
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing thrown";
}
ROW("error: a thrown error names its operation: make_address") {
  try {
    asio::ip::make_address("nonsense");
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing thrown";
}
ROW("error: a thrown error names its operation: local_endpoint") {
  asio::io_context context;
  asio::ip::tcp::socket socket(context);
  try {
    socket.local_endpoint();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing thrown";
}
ROW("error: a function with an error_code clears it") {
  asio::io_context context;
  local_pair pair(context);
  asio::error_code ec = asio::error::eof;
  pair.near.write_some(asio::buffer("x", 1), ec);
  return line(ec);
}
ROW("error: bad_address_cast") {
  return thrown_by([] { asio::ip::make_address("::1").to_v4(); });
}

}  // namespace semantics::errors
