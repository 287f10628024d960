// SPDX-License-Identifier: BSL-1.0
//
// The frame of the benchmark http_client: 32 calls in flight, each a GET for the same file, over
// connections that are kept. The server is a program of its own (harness/calling.py). Making the
// connections is a part of the measured time, for every peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "micro.hpp"

namespace bench {

class http_calls {
 public:
  static constexpr std::size_t in_flight = 32;
  static constexpr std::size_t buffer_size = 16384;  // of each call; libcurl's default

  http_calls(meter& m, std::size_t body_bytes);

  [[nodiscard]] const settings& options() const { return meter_.options(); }
  [[nodiscard]] std::string authority() const;  // such as 127.0.0.1:8080
  [[nodiscard]] std::string path() const;
  [[nodiscard]] std::string url() const { return "http://" + authority() + path(); }

  // Counts a response whose body was read to its end. Fails the run unless the status is 200 and
  // the body as long as the file. Returns whether another call is to take its place.
  [[nodiscard]] bool take(unsigned status, std::size_t bytes) {
    require(status == 200, "a response has another status than 200");
    require(bytes == body_bytes_, "a body is not as long as the file");
    return !meter_.over(++done_);
  }
  [[nodiscard]] std::uint64_t done() const { return done_; }

 private:
  meter& meter_;
  std::size_t body_bytes_;
  std::uint64_t done_ = 0;
};

}  // namespace bench
