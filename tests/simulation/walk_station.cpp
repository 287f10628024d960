// SPDX-License-Identifier: BSL-1.0
// The steps of a station. Every operation is started inside an `initiation`, happens once, and is
// judged with the life of the connection that it was started on.
#include "simulation/walk_station.hpp"

#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <utility>

namespace beck::test {
using namespace detail;
namespace {

constexpr std::size_t rooms[] = {1, 3, 64, 4096, 4097, 70'000};
constexpr std::size_t sizes[] = {1, 7, 64, 1000, 5000, 300'000};

template <std::size_t N>
std::size_t pick(choices& from, const std::size_t (&values)[N]) {
  return values[from.below(N)];
}

void join(io_context&, local::stream_protocol::socket (&ends)[2]) {
  connect_pair(ends[0], ends[1]);
}

void join(io_context& ctx, ip::tcp::socket (&ends)[2]) {
  ip::tcp::acceptor acceptor(ctx, ip::tcp::endpoint(ip::address_v4::loopback(), 0));
  ends[0].connect(acceptor.local_endpoint());
  ends[1] = acceptor.accept();
}

}  // namespace

template <class Stream>
walk_station<Stream>::walk_station(io_context& ctx, oracles& of, choices& from, bool faults)
    : ctx_(ctx), oracles_(of), from_(from), faults_(faults), ends_{Stream(ctx), Stream(ctx)} {
  open();
}

template <class Stream>
void walk_station<Stream>::open() {
  life_ = std::make_shared<connection_life>(oracles_, ++lives_ * 2);
  reads_[0] = reads_[1] = 0;
  join(ctx_, ends_);
}

template <class Stream>
void walk_station<Stream>::close() {
  life_->broken = true;
  for (Stream& end : ends_) {
    const oracles::initiation inside(oracles_);
    end.close();
  }
}

template <class Stream>
void walk_station<Stream>::step() {
  const auto end = static_cast<unsigned>(from_.below(2));
  switch (from_.below(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      return start_read(end);
    case 5:
    case 6:
    case 7:
    case 8:
      return start_write(end);
    case 9:
    case 10:
      return start_wait(end);
    case 11:
    case 12:
    case 13: {
      const oracles::initiation inside(oracles_);
      return ends_[end].cancel();
    }
    case 14:
      life_->wants_shutdown[end] = true;
      if (!life_->writing[end]) shut_down(*life_, end);
      return;
    default:
      close();
      return open();
  }
}

template <class Stream>
void walk_station<Stream>::judge(connection_life& life, const error_code& ec) {
  if (!ec || ec == error::eof) return;
  if (ec != error::operation_aborted && !life.broken && !faults_ && !life.shut[0] &&
      !life.shut[1]) {
    oracles_.broken("an operation failed: " + ec.message());
  }
  if (ec != error::operation_aborted) life.broken = true;
}

// --- reading -----------------------------------------------------------------------------------

template <class Stream>
void walk_station<Stream>::read_done(connection_life& life, unsigned end, std::uint64_t start,
                                     const error_code& ec, const char* data, std::size_t n) {
  life.streams[end].complete(start);
  life.streams[end].got(data, n);
  if (!ec && n == 0) oracles_.broken("a read succeeded with nothing");
  if (ec == error::eof && !life.broken && !faults_) life.streams[end].ended();
  judge(life, ec);
  if (&life == life_.get()) --reads_[end];
}

template <class Stream>
void walk_station<Stream>::start_read(unsigned end) {
  if (reads_[end] == reads_max) return;
  ++reads_[end];
  const std::size_t room = pick(from_, rooms);
  const auto form = from_.below(4);
  if (form == 0) {
    const auto spawn = [&] { co_spawn(ctx_, read_task(end, room, life_), detached); };
    if (!oracles_.starts(spawn)) --reads_[end];
    return;
  }
  auto data = std::make_shared<std::vector<char>>(room);
  const std::uint64_t start = life_->streams[end].start();
  auto done = [this, end, start, data, life = life_, once = expected_once(oracles_)](
                  error_code ec, std::size_t n) mutable {
    oracles_.called_back();
    once.happened();
    read_done(*life, end, start, ec, data->data(), n);
  };
  const mutable_buffer all = buffer(*data);
  const std::size_t whole = room < 5000 ? room : 5000;
  const auto begin = [&] {
    if (form == 1) {
      ends_[end].async_read_some(all, std::move(done));
    } else if (form == 2) {
      const mutable_buffer parts[2] = {buffer(all, room / 2), all + room / 2};
      ends_[end].async_read_some(parts, std::move(done));
    } else {
      async_read(ends_[end], buffer(all, whole), std::move(done));
    }
  };
  if (oracles_.starts(begin)) return;
  life_->streams[end].not_started();
  --reads_[end];
}

template <class Stream>
task<> walk_station<Stream>::read_task(unsigned end, std::size_t room, life_pointer life) {
  std::vector<char> data(room);
  expected_once once(oracles_);
  if (life != life_) {  // closed before it began
    once.happened();
    co_return;
  }
  const std::uint64_t start = life->streams[end].start();
  auto [ec, n] = co_await ends_[end].async_read_some(buffer(data));
  once.happened();
  read_done(*life, end, start, ec, data.data(), n);
}

template <class Stream>
void walk_station<Stream>::start_wait(unsigned end) {
  const bool reading = from_.below(4) != 0;
  const auto what = from_.below(8) == 7 ? socket_base::wait_error
                    : reading           ? socket_base::wait_read
                                        : socket_base::wait_write;
  const bool ordered = what == socket_base::wait_read;
  const std::uint64_t start = ordered ? life_->streams[end].start() : 0;
  auto done = [this, ordered, end, start, life = life_,
               once = expected_once(oracles_)](error_code ec) mutable {
    oracles_.called_back();
    once.happened();
    if (ordered) life->streams[end].complete(start);
    judge(*life, ec);
  };
  const auto begin = [&] { ends_[end].async_wait(what, std::move(done)); };
  if (!oracles_.starts(begin) && ordered) life_->streams[end].not_started();
}

// --- writing -----------------------------------------------------------------------------------

template <class Stream>
std::string walk_station<Stream>::next_text(connection_life& life, unsigned end,
                                            std::size_t bytes) {
  std::string text(bytes, '\0');
  life.streams[1 - end].fill(text.data(), bytes);
  return text;
}

template <class Stream>
void walk_station<Stream>::start_write(unsigned end) {
  if (life_->writing[end] || life_->shut[end]) return;
  life_->writing[end] = true;
  std::string text = next_text(*life_, end, pick(from_, sizes));
  const auto form = from_.below(3);
  if (form == 0) {
    const auto spawn = [&] { co_spawn(ctx_, write_task(end, std::move(text), life_), detached); };
    if (!oracles_.starts(spawn)) life_->writing[end] = false;
    return;
  }
  auto kept = std::make_shared<std::string>(std::move(text));
  const const_buffer all = buffer(*kept);
  auto done = [this, end, kept, life = life_, once = expected_once(oracles_)](
                  error_code ec, std::size_t n) mutable {
    oracles_.called_back();
    once.happened();
    write_done(*life, end, ec, kept->size(), n);
  };
  const auto begin = [&] {
    if (form == 1) {
      async_write(ends_[end], all, std::move(done));
    } else {
      const const_buffer parts[2] = {buffer(all, all.size() / 2), all + all.size() / 2};
      async_write(ends_[end], parts, std::move(done));
    }
  };
  if (!oracles_.starts(begin)) life_->writing[end] = false;
}

template <class Stream>
task<> walk_station<Stream>::write_task(unsigned end, std::string text, life_pointer life) {
  expected_once once(oracles_);
  if (life != life_) {
    once.happened();
    co_return;
  }
  auto [ec, n] = co_await async_write(ends_[end], buffer(text));
  once.happened();
  write_done(*life, end, ec, text.size(), n);
}

template <class Stream>
void walk_station<Stream>::write_done(connection_life& life, unsigned end, const error_code& ec,
                                      std::size_t asked, std::size_t n) {
  life.writing[end] = false;
  life.streams[1 - end].wrote(n);
  if (!ec && n != asked) oracles_.broken("a write succeeded with a part");
  judge(life, ec);
  if (life.wants_shutdown[end] && &life == life_.get()) shut_down(life, end);
}

template <class Stream>
void walk_station<Stream>::shut_down(connection_life& life, unsigned end) {
  if (life.shut[end]) return;
  life.shut[end] = true;
  error_code ignored;  // the peer may be gone
  ends_[end].shutdown(socket_base::shutdown_send, ignored);
}

// --- the end -----------------------------------------------------------------------------------

template <class Stream>
task<> walk_station<Stream>::drain(unsigned end, life_pointer life) {
  std::vector<char> data(room_max);
  for (;;) {
    expected_once once(oracles_);
    oracles_.started();
    const std::uint64_t start = life->streams[end].start();
    ++reads_[end];
    auto [ec, n] = co_await ends_[end].async_read_some(buffer(data));
    once.happened();
    read_done(*life, end, start, ec, data.data(), n);
    if (ec) break;
  }
  if (++drained_ == 2) close();  // ends what waits for an error
}

template <class Stream>
void walk_station<Stream>::finish() {
  for (unsigned end = 0; end < 2; ++end) {
    life_->wants_shutdown[end] = true;
    if (!life_->writing[end]) shut_down(*life_, end);
    co_spawn(ctx_, drain(end, life_), detached);
  }
}

template class walk_station<local::stream_protocol::socket>;
template class walk_station<ip::tcp::socket>;

}  // namespace beck::test
