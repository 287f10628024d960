// SPDX-License-Identifier: BSL-1.0
// Uploads in simulated worlds: slow clients, clients that leave, full and failing disks, losses of
// power. A file is there whole or not at all, and none is left under another name.
#include <beck/http/multipart_form.hpp>

#include <beck/coro/timeout.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/testing/faults.hpp>

#include <deque>
#include <exception>
#include <string>
#include <vector>

#include "http/multipart_site.hpp"
#include "http/server_site.hpp"
#include "support/report.hpp"
#include "support/small_random.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
namespace http = beck::http;
namespace sim = beck::testing::sim;

namespace {

/// What has become of the uploads of all worlds.
struct upload_tally {
  std::size_t saved = 0, refused = 0, unanswered = 0;
  std::size_t failed[5] = {};  ///< by the fault of the disk
};

/// The data of the file of a client.
std::string upload_data(unsigned client, std::size_t bytes) {
  std::string data(bytes, static_cast<char>('a' + client));
  // Beginnings of the boundary, and what looks like it.
  for (std::size_t at = 0; at + 6 < bytes; at += 97) data.replace(at, 6, "\r\n--c\n");
  return data;
}

/// Returns the content of a file; false if it is not there.
bool read_file(beck::io_context& ctx, const std::string& path, std::string& to) {
  beck::random_access_file file(ctx);
  error_code ec;
  file.open(path, beck::file_object::read_only, ec);
  if (ec) return false;
  to.assign(static_cast<std::size_t>(file.size()), '\0');
  std::size_t at = 0;
  while (at < to.size())
    at += file.read_some_at(at, beck::mutable_buffer(to.data() + at, to.size() - at));
  return true;
}

/// Sends `text` in pieces with pauses; leaves in the middle if `leaves` says so.
task<> upload_slowly(peer& one, std::string text, beck::testing::small_random random,
                     unsigned leaves) {
  auto connected = co_await one.socket.async_connect(site::server_at());
  one.end = connected.error();
  beck::steady_timer timer(one.socket.get_executor());
  std::string_view left(text);
  const std::size_t stays = leaves == 0 ? 0 : random.below(static_cast<unsigned>(text.size()));
  while (!one.end && left.size() > stays) {
    const std::size_t most = 1 + random.below(static_cast<unsigned>(text.size() / 4 + 1));
    const std::size_t bytes = std::min(most, left.size() - stays);
    const beck::const_buffer piece(left.data(), bytes);
    auto sent = co_await beck::async_write(one.socket, piece);
    if (sent.error()) break;
    left.remove_prefix(bytes);
    timer.expires_after(1ms * random.below(400));
    beck::ignore(co_await timer.async_wait());
  }
  error_code ec;
  if (leaves == 1) one.socket.set_option(beck::socket_base::linger(true, 0), ec);
  if (leaves == 1) one.socket.close();
  if (leaves == 2) one.socket.shutdown(beck::ip::tcp::socket::shutdown_send, ec);
  if (leaves != 1) co_await site::receive(one);
}

/// Returns the names in the directory of the disk of a host.
std::string names_on(sim::world& world, beck::io_context& web) {
  std::string names;
  beck::co_spawn(web, list_names(web, "", names), beck::detached);
  world.run_for(1s);
  return names;
}

void upload_in_world(std::uint64_t seed, upload_tally& sum) {
  beck::testing::small_random random(seed * 7919);
  const unsigned disk = static_cast<unsigned>(seed % 5);
  sim::world world(seed, sim::settings().buffer_sizes(1 + seed * 37 % 9000, 1 + seed * 91 % 9000));
  sim::host& machine = world.host("web");
  if (disk == 1) machine.disk_capacity(300'000);
  beck::io_context web(machine), far(world.host("far"));
  web.on_log([](const char*, void*) {}, nullptr);
  form_taker taker("");
  http::server server([&taker](http::request& q, http::response& r) { return taker(q, r); });
  server.listen(80);
  bool ended = false;
  co_spawn(web, server.serve(), [&](std::exception_ptr) { ended = true; });
  constexpr unsigned clients = 4;
  std::deque<peer> peers;
  std::vector<std::string> data;
  std::vector<unsigned> leaves;
  for (unsigned i = 0; i < clients; ++i) {
    data.push_back(upload_data(i, random.below(200'000)));
    leaves.push_back(static_cast<unsigned>(random.below(4)));
    const std::string name = "f" + std::to_string(i);
    const std::string body = form_field(name, data[i]) + form_field("t", "text") + "--b--\r\n";
    const bool chunked = random.below(2) == 0;
    std::string text = chunked ? form_chunks(body, 1 + random.below(9000), "Connection: close\r\n")
                               : form_post(body, "Connection: close\r\n");
    peer& one = peers.emplace_back(far);
    co_spawn(far,
             upload_slowly(one, std::move(text), beck::testing::small_random(seed + i),
                           leaves[i] == 3 ? 0 : leaves[i]),
             beck::detached);
  }
  if (disk == 2)
    machine.inject(sim::fault::device_error, 1 + static_cast<unsigned>(random.below(3)));
  if (disk == 3) machine.inject(sim::fault::short_write, 50);
  if (disk == 4) machine.inject(sim::fault::sync_failed);
  world.run_for(300s);
  for (unsigned i = 0; i < clients; ++i) {
    const auto all = peers[i].responses();
    const unsigned status = all.empty() ? 0 : all[0].status;
    CAPTURE(i);
    CAPTURE(status);
    std::string content;
    const bool is_there = read_file(web, "f" + std::to_string(i), content);
    if (is_there) CHECK(content == data[i]);
    if (status == 200) {
      CHECK(is_there);
      ++sum.saved;
    }
    if (status == 500) CHECK(disk != 0);
    if (status == 500) ++sum.failed[disk];
    if (status >= 400 && status < 500) ++sum.refused;
    if (status == 0) ++sum.unanswered;
    CHECK((status == 200 || status == 0 || status == 400 || status == 408 || status == 500));
  }
  const std::string names = names_on(world, web);
  CHECK(!has(names, "part"));
  CHECK(static_cast<std::size_t>(taker.saved) <= clients);
  server.stop();
  world.run_for(30s);
  CHECK(ended);
  CHECK(server.stats().connections == 0);
}

}  // namespace

TEST_CASE("http form worlds: a file is saved whole or not at all, and nothing else is left") {
  constexpr std::uint64_t worlds = 200;
  upload_tally sum;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    CAPTURE(seed);
    upload_in_world(seed, sum);
  }
  CHECK(sum.saved > worlds);
  CHECK(sum.refused > worlds / 4);
  for (const unsigned disk : {1U, 2U, 4U}) CHECK(sum.failed[disk] > 2);
  CHECK(sum.failed[0] + sum.failed[3] == 0);
  CHECK(sum.unanswered > worlds / 4);
  beck::test::report_value("multipart.worlds", worlds);
}

TEST_CASE("http forms: a slow upload is cut by the limits of bodies, and leaves no file") {
  form_taker taker("");
  site s([&taker](http::request& q, http::response& r) { return taker(q, r); });
  const std::string body = form_field("f1", std::string(1000, 'x')) + "--b--";
  const std::string text = form_post(body);
  const std::string begin = text.substr(0, text.size() - 500);
  peer& one = s.start(begin, 1s);
  CHECK(taker.saving == 1);
  CHECK(names_on(s.world, s.web) == "part ");
  s.listen_to(one, 60s);
  REQUIRE(one.responses().size() == 1);
  CHECK(one.responses()[0].status == 408);
  CHECK(names_on(s.world, s.web) == "");
  CHECK(taker.saved == 0);
}

TEST_CASE("http forms: a save that is cancelled at any time leaves the whole file, or nothing") {
  int saved = 0, cancelled = 0;
  const std::string data(150'000, 'x');
  for (int i = 0; i < 400; ++i) {
    CAPTURE(i);
    const beck::duration limit(i * 250LL);
    std::string ended;
    site s(
        [&](http::request& q, http::response& r) -> task<> {
          http::multipart_form form(q);
          http::form_part part = co_await form.next();
          auto got = co_await beck::timeout(part.save("f1"), limit);
          ended = got.error() ? got.error().message() : "saved";
          r.send(ended);
        },
        {}, static_cast<std::uint64_t>(i + 1));
    s.start(form_post(form_field("f1", data) + "--b--"), 5s);
    std::string content;
    const bool is_there = read_file(s.web, "f1", content);
    CHECK(is_there == (ended == "saved"));
    if (is_there) CHECK(content == data);
    CHECK(names_on(s.world, s.web) == (is_there ? "f1 " : ""));
    ++(is_there ? saved : cancelled);
  }
  CHECK(saved > 10);
  CHECK(cancelled > 10);
}

TEST_CASE("http forms: a file that is saved is on the device when its machine loses its power") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    form_taker taker("");
    site s([&taker](http::request& q, http::response& r) { return taker(q, r); }, {}, seed);
    const std::string data(20'000, 'x');
    const std::string whole = form_post(form_field("f1", data) + form_field("f2", data) + "--b--");
    s.start(whole.substr(0, whole.size() - 5000), 5s);
    CHECK(taker.saved == 1);
    CHECK(taker.saving == 2);
    sim::host& machine = s.world.host("web");
    machine.crash();
    machine.restart();
    beck::io_context again(machine);
    std::string content;
    CHECK(read_file(again, "f1", content));
    CHECK(content == data);
    CHECK(!read_file(again, "f2", content));
  }
}
