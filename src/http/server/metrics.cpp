// SPDX-License-Identifier: BSL-1.0
// Tables of metrics with their name, explanation and member. A family is its HELP, its TYPE and its
// samples. The type follows from the name: a counter ends in "_total".
#include <beck/http/metrics.hpp>

#include <iterator>

#include "http/server/metrics_text.hpp"

namespace beck::http {
namespace {

using detail::begin_family;

template <class Stats, class Number = std::uint64_t>
struct row {
  std::string_view name;
  std::string_view help;
  Number Stats::* member;
};

constexpr row<server_stats> server_rows[] = {
    {"beck_http_connections", "Connections that are open.", &server_stats::connections},
    {"beck_http_accepted_total", "Connections accepted.", &server_stats::accepted},
    {"beck_http_turned_away_total", "Connections above the limit of their address.",
     &server_stats::turned_away},
    {"beck_http_evicted_total", "Connections closed to make room at the limit.",
     &server_stats::evicted},
    {"beck_http_handshakes_failed_total", "Handshakes of a layer that failed.",
     &server_stats::handshakes_failed},
    {"beck_http_taken_over_total", "Connections that became tunnels.", &server_stats::taken_over},
    {"beck_http_exchanges_total", "Requests whose handler has ended.", &server_stats::exchanges},
    {"beck_http_failed_total", "Handlers that threw, or did not respond.", &server_stats::failed},
    {"beck_http_cut_total", "Responses that were begun and not finished.", &server_stats::cut},
};
static_assert(sizeof(server_stats) ==
                  (std::size(server_rows) + std::size(server_stats().refused)) * 8,
              "a row for each counter");

constexpr row<context_stats> context_rows[] = {
    {"beck_context_iterations_total", "Iterations of the loop.", &context_stats::iterations},
    {"beck_context_kernel_entries_total", "Calls of io_uring_enter or epoll_wait.",
     &context_stats::kernel_entries},
    {"beck_context_entries_submitted_total", "Ring entries handed to the kernel.",
     &context_stats::entries_submitted},
    {"beck_context_completions_total", "Completions or events from the kernel.",
     &context_stats::completions},
    {"beck_context_entries_run_total", "Queue entries run.", &context_stats::entries_run},
    {"beck_context_delivered_total", "Handlers and resumptions run.", &context_stats::delivered},
    {"beck_context_inline_completions_total", "Operations that finished without suspending.",
     &context_stats::inline_completions},
    {"beck_context_budget_stops_total", "Attempts refused for a spent budget.",
     &context_stats::budget_stops},
    {"beck_context_attempts_total", "Direct system calls for operations.",
     &context_stats::attempts},
    {"beck_context_wrong_attempts_total", "Direct system calls that ended with EAGAIN.",
     &context_stats::wrong_attempts},
    {"beck_context_lazy_armed_total", "Receives submitted one turn late.",
     &context_stats::lazy_armed},
    {"beck_context_sends_batched_total", "Sends that have waited for others.",
     &context_stats::sends_batched},
    {"beck_context_arming_stops_total", "Sockets whose receives stopped being submitted early.",
     &context_stats::arming_stops},
    {"beck_context_leases_total", "Buffers lent.", &context_stats::leases},
    {"beck_context_lease_waits_total", "Receives that found no free buffer.",
     &context_stats::lease_waits},
    {"beck_context_speculations_total", "Reads attempted one turn late, without readiness.",
     &context_stats::speculations},
    {"beck_context_spins_total", "Busy polls before the loop slept.", &context_stats::spins},
    {"beck_context_spin_hits_total", "Busy polls that found work.", &context_stats::spin_hits},
    {"beck_context_wakeups_total", "Times another thread woke the loop.", &context_stats::wakeups},
    {"beck_context_mail_total", "Entries that came through the mailbox.", &context_stats::mail},
    {"beck_context_block_misses_total", "Blocks that came from the general allocator.",
     &context_stats::block_misses},
    {"beck_context_retries_total", "Submissions and accepts repeated.", &context_stats::retries},
    {"beck_context_outstanding", "Operations in flight.", &context_stats::outstanding},
};
constexpr row<context_stats, std::uint32_t> depth_row = {"beck_context_depth_max",
                                                         "Deepest nesting of tasks started inline.",
                                                         &context_stats::depth_max};
static_assert(sizeof(context_stats) == (std::size(context_rows) + 1) * 8, "a row for each counter");

template <class Stats, class Number>
void append(std::string& to, const row<Stats, Number>& one, const Stats& of) {
  begin_family(to, one.name, one.help, one.name.ends_with("_total") ? "counter" : "gauge");
  to.append(one.name).append(" ").append(std::to_string(of.*one.member)).append("\n");
}

void append_refusals(std::string& to, const server_stats& of) {
  constexpr std::string_view name = "beck_http_refused_total";
  begin_family(to, name, "Messages refused, by reason.", "counter");
  for (unsigned i = 1; i <= static_cast<unsigned>(refusal::handler_late); ++i) {
    const refusal why = static_cast<refusal>(i);
    to.append(name).append("{reason=\"").append(name_of(why)).append("\"} ");
    to.append(std::to_string(of.count(why))).append("\n");
  }
}

}  // namespace

void detail::begin_family(std::string& to, std::string_view name, std::string_view help,
                          std::string_view type) {
  to.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name);
  to.append(" ").append(type).append("\n");
}

std::string functions::metrics_text(const server_stats& of) {
  std::string text;
  for (const auto& one : server_rows) append(text, one, of);
  append_refusals(text, of);
  return text;
}

std::string functions::metrics_text(const server_stats& of, const context_stats& context) {
  std::string text = metrics_text(of);
  for (const auto& one : context_rows) append(text, one, context);
  append(text, depth_row, context);
  return text;
}

}  // namespace beck::http
