// SPDX-License-Identifier: BSL-1.0
//
// The bank and its customer of deposits.hpp on two simulated hosts, and a network that breaks.
// docs/checking.md shows the output.
//   simulated_deposits --seeds 5000           --help lists all options
//   simulated_deposits --fixed --seeds 5000
#include <beck/testing/check.hpp>

#include "deposits.hpp"

using beck::ip::tcp;
using namespace std::chrono_literals;
namespace sim = beck::testing::sim;

namespace {

std::string deposits(sim::world& w, bool fixed) {
  beck::io_context server(w.host("bank"));
  server.on_log([](const char*, void*) {});  // drops lines such as "too many open files"
  beck::io_context client(w.host("customer"));
  const tcp::endpoint where(beck::ip::make_address("10.0.0.1"), 80);
  example::bank bank{server, tcp::acceptor(server, where), fixed};
  std::vector<long> amounts(20);
  long sum = 0;
  for (long& amount : amounts) sum += amount = w.random().between(1, 100);
  long confirmed = 0;
  beck::co_spawn(server, bank.accept(), beck::detached);
  beck::co_spawn(client, example::deposit(client, where, amounts, confirmed), beck::detached);
  // Not run(): the bank accepts for ever. The clock may jump to the end of any of these minutes.
  for (int minute = 0; minute < 100 && confirmed != sum; ++minute) w.run_for(1min);
  if (confirmed != sum) return "not every deposit was confirmed";
  if (bank.balance == sum) return "";
  return std::to_string(sum) + " were deposited, the balance is " + std::to_string(bank.balance);
}

}  // namespace

int main(int argc, char** argv) {
  std::string command = argv[0];
  const bool fixed = argc > 1 && argv[1] == std::string("--fixed");
  if (fixed) {  // check() reads the other arguments
    argv[1] = (command += " --fixed").data();
    ++argv;
    --argc;
  }
  const auto how = sim::check_options{.settings = sim::settings().with(sim::faults())};
  return sim::check(argc, argv, [fixed](sim::world& w) { return deposits(w, fixed); }, how);
}
