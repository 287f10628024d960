// SPDX-License-Identifier: BSL-1.0
//
// The bank and its customer of deposits.hpp over the loopback interface, where nothing ever breaks.
//   deposits [TIMES]
//   BECK_BACKEND=epoll deposits 1000
#include <cstdio>

#include "deposits.hpp"
#include "number.hpp"

using beck::ip::tcp;

int main(int argc, char** argv) {
  try {
    const long times = argc > 1 ? example::number(argv[1]) : 1;
    const char* backend = "";
    for (long i = 0; i < times; ++i) {
      beck::io_context context;
      const tcp::endpoint loopback(beck::ip::make_address("127.0.0.1"), 0);
      example::bank bank{context, tcp::acceptor(context, loopback), false};
      const tcp::endpoint where = bank.acceptor.local_endpoint();
      const std::vector<long> amounts(20, 50);
      long confirmed = 0;
      beck::co_spawn(context, bank.accept(), beck::detached);
      beck::co_spawn(context, example::deposit(context, where, amounts, confirmed),
                     [&bank](std::exception_ptr) { bank.acceptor.close(); });
      context.run();
      if (confirmed != 1000 || bank.balance != confirmed) {
        std::fprintf(stderr, "%ld were deposited, the balance is %ld\n", confirmed, bank.balance);
        return 1;
      }
      backend = beck::to_string(context.backend_in_use());
    }
    std::printf("the balance was right %ld times, %s\n", times, backend);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "deposits: %s\n", e.what());
    return 1;
  }
}
