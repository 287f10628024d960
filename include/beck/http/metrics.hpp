// SPDX-License-Identifier: BSL-1.0
//
// Counters as text for Prometheus, and for programs that read its format, such as OpenTelemetry's
// collector.
#pragma once

#include <beck/http/server.hpp>
#include <beck/io/io_context.hpp>
#include <string>  // lint: allow heavy-header, error.hpp has it already
#include <string_view>

namespace beck::http {

/// The media type of metrics_text().
inline constexpr std::string_view metrics_type = "text/plain; version=0.0.4; charset=utf-8";

namespace functions {

/// Returns the counters of a server in Prometheus' text format 0.0.4: "beck_http_connections", a
/// gauge, and counters such as "beck_http_exchanges_total". Refusals have the label `reason`, the
/// name of their value. Source: Prometheus, "Exposition formats".
std::string metrics_text(const server_stats& of);
/// As above, followed by the counters of a context, "beck_context_...". They are the counters of
/// one context only: with several, each response has those of the context that serves it.
std::string metrics_text(const server_stats& of, const context_stats& context);

}  // namespace functions
using namespace functions;

}  // namespace beck::http
