// SPDX-License-Identifier: BSL-1.0
// Copies or sends one file by one mechanism, for those who look at it from outside: which system
// calls it makes (system_calls_test.py), how long it takes.
//   transfer_probe copy|send automatic|copy_range|send_file|splice|read_write FROM [TO]
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/net/local.hpp>
#include <beck/transfer/copy.hpp>
#include <beck/transfer/transmit.hpp>
#include <cstdio>
#include <cstring>
#include <string>

using beck::file_object;
using beck::random_access_file;
using beck::transfer_mechanism;
using socket_type = beck::local::stream_protocol::socket;

namespace {

transfer_mechanism mechanism_of(const char* name) {
  for (const auto each : {transfer_mechanism::copy_range, transfer_mechanism::send_file,
                          transfer_mechanism::splice, transfer_mechanism::read_write}) {
    if (std::strcmp(name, beck::to_string(each)) == 0) return each;
  }
  return transfer_mechanism::automatic;
}

int tell(const beck::error_code& ec, const beck::transfer_report& report) {
  std::printf("%llu bytes by %s: %s\n", static_cast<unsigned long long>(report.bytes),
              beck::to_string(report.mechanism), ec ? ec.message().c_str() : "done");
  return ec ? 1 : 0;
}

beck::task<> copy(random_access_file& from, random_access_file& to, transfer_mechanism how,
                  int& code) {
  auto [ec, report] = co_await beck::async_copy(from, to, beck::copy_options{.only = how});
  code = tell(ec, report);
}

beck::task<> send(socket_type& to, random_access_file& from, transfer_mechanism how, int& code) {
  const auto options = beck::transmit_options{.only = how};
  auto [ec, report] = co_await beck::async_transmit(to, from, 0, beck::to_the_end, options);
  code = tell(ec, report);
  to.close();
}

beck::task<> receive(socket_type& from) {
  std::string part(262'144, 'x');
  for (;;) {
    auto got = co_await from.async_read_some(beck::buffer(part));
    if (got.error()) co_return;
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) return 2;
  beck::io_context ctx;
  const transfer_mechanism how = mechanism_of(arguments[2]);
  random_access_file from(ctx, arguments[3], file_object::read_only);
  int code = 1;
  if (std::strcmp(arguments[1], "copy") == 0 && count == 5) {
    random_access_file to(ctx, arguments[4],
                          file_object::write_only | file_object::create | file_object::truncate);
    beck::co_spawn(ctx, copy(from, to, how, code), beck::detached);
    ctx.run();
  } else if (count == 4) {
    socket_type a(ctx);
    socket_type b(ctx);
    beck::local::connect_pair(a, b);
    beck::co_spawn(ctx, send(a, from, how, code), beck::detached);
    beck::co_spawn(ctx, receive(b), beck::detached);
    ctx.run();
  }
  return code;
}
