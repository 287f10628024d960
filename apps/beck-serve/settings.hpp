// SPDX-License-Identifier: BSL-1.0
//
// The settings of the command line.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/http/access_log.hpp>
#include <beck/http/limits.hpp>
#include <beck/http/static_files.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

namespace beck_serve {

inline constexpr std::size_t workers_max = 1024;

struct settings {
  std::string folder;
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;
  std::string unix_path;    // instead of host and port; empty: none
  std::string certificate;  // a chain in PEM; empty: no TLS
  std::string key;
  std::string proxies;
  beck::http::file_options files;
  beck::http::limits limits;
  std::string metrics;     // the path of the counters; empty: none
  std::string access_log;  // empty: none; "-": standard output
  beck::http::log_format format = beck::http::log_format::combined;
  std::size_t workers = 0;  // 0: one for each processor
  beck::duration drain = beck::duration(20'000'000'000);
};

}  // namespace beck_serve
