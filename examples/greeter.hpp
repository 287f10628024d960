// SPDX-License-Identifier: BSL-1.0
//
// The protocol of the blocking and the coroutine HTTP server, without I/O: received bytes go in,
// the bytes to send come out. So each server is only a loop that reads and writes.
#pragma once

#include <beck/http/body_decoder.hpp>
#include <beck/http/parser.hpp>
#include <beck/http/refusal.hpp>
#include <beck/http/status.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace example {

/// Greets in response to each request of a connection.
class greeter {
 public:
  /// Returns whether a further request may follow.
  bool goes_on() const { return goes_on_; }

  /// Takes received bytes; returns the responses to the requests that are whole now.
  std::string responses_to(std::string_view received) {
    namespace http = beck::http;
    std::string responses;
    input_.append(received);
    while (goes_on_ && !input_.empty()) {
      if (!body_) {
        const http::parse_status found = parser_.parse(input_, head_);
        if (found == http::parse_status::more) break;
        if (found == http::parse_status::refused) {
          refuse(parser_.reason(), responses);
          break;
        }
        keeps_alive_ = head_.keeps_alive();
        if (head_.expects_continue()) responses += "HTTP/1.1 100 Continue\r\n\r\n";
        body_.emplace(head_);
        input_.erase(0, head_.bytes());
        parser_.reset();
      }
      const http::body_part part = body_->decode(input_);
      input_.erase(0, part.consumed);
      if (part.status == http::parse_status::refused) refuse(body_->reason(), responses);
      if (part.status != http::parse_status::more) {
        body_.reset();
        if (goes_on_) greet(responses);
      } else if (part.consumed == 0) {
        break;
      }
    }
    return responses;
  }

 private:
  void greet(std::string& responses) {
    goes_on_ = keeps_alive_;
    responses += "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n";
    responses += goes_on_ ? "\r\n" : "Connection: close\r\n\r\n";
    responses += "hello, peer\n";
  }

  void refuse(beck::http::refusal why, std::string& responses) {
    goes_on_ = false;
    const beck::http::status status = beck::http::status_of(why);
    responses += "HTTP/1.1 " + std::to_string(beck::http::number_of(status)) + " ";
    responses.append(beck::http::reason_of(status))
        .append("\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  }

  beck::http::request_parser parser_;
  beck::http::request_head head_;
  std::optional<beck::http::body_decoder> body_;  // while a body arrives
  std::string input_;
  bool keeps_alive_ = true;
  bool goes_on_ = true;
};

}  // namespace example
