// SPDX-License-Identifier: BSL-1.0
//
// A server that sends files of one directory: a client sends a name and a newline and gets the
// contents, then the end of the stream; of a name that is wrong only the latter. The bytes go from
// the file to the socket inside the kernel.
//   file_server PORT DIRECTORY          port 0: any free one; it is printed
#include <beck/beck.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/transfer/transmit.hpp>
#include <chrono>
#include <cstdio>
#include <string>

#include "number.hpp"

using beck::ip::tcp;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t name_bytes_max = 255;

/// Empty if it does not name a file of the directory itself.
std::string path_of(const std::string& directory, const std::string& name) {
  if (name.empty() || name[0] == '.' || name.find('/') != name.npos) return {};
  return directory + "/" + name;
}

beck::task<> session(tcp::socket client, const std::string& directory) {
  std::string text;
  auto buffer = beck::dynamic_buffer(text, name_bytes_max);
  auto asking = beck::async_read_until(client, buffer, '\n');
  const auto asked = co_await beck::timeout(std::move(asking), 10s);
  if (!asked) co_return;
  const std::string path = path_of(directory, text.substr(0, *asked - 1));
  if (path.empty()) co_return;
  beck::random_access_file file(client.get_executor());
  const auto opened = co_await file.async_open(path.c_str(), beck::file_object::read_only);
  if (!opened) co_return;
  auto sending = beck::async_transmit(client, file, 0, beck::to_the_end);
  auto [ec, sent] = co_await beck::timeout(std::move(sending), 1h);
  std::printf("%llu bytes of %s by %s%s%s\n", static_cast<unsigned long long>(sent.bytes),
              path.c_str(), beck::to_string(sent.mechanism), ec ? ": " : "",
              ec ? ec.message().c_str() : "");
  std::fflush(stdout);
}

beck::task<> serve(tcp::acceptor& acceptor, const std::string& directory) {
  for (;;) {
    auto accepted = co_await acceptor.async_accept();
    if (!accepted) co_return;
    beck::spawn(session(std::move(accepted).value(), directory));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: file_server PORT DIRECTORY\n");
    return 2;
  }
  beck::io_context context;
  const tcp::endpoint here(tcp::v4(), beck::ip::make_port(example::number(argv[1])));
  tcp::acceptor acceptor(context, here);
  const std::string directory = argv[2];
  std::printf("listening on port %d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  beck::co_spawn(context, serve(acceptor, directory), beck::detached);
  context.run();
}
