// SPDX-License-Identifier: BSL-1.0
//
// What keeps the scripted kernel honest. One random script of operations on real sockets runs on
// Linux and on the model: a calm model must give each operation the very outcome that Linux gives;
// a rough one may differ, but it and Linux are judged by the same laws.
#include <doctest/doctest.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include "io/uring/probe.hpp"
#include "io/uring/ring_kernel.hpp"
#include "support/conformance.hpp"
#include "support/ring_entries.hpp"
#include "support/scripted_ring.hpp"
#include "support/small_random.hpp"

using namespace beck::testing;
using beck::uring::ring;
using beck::uring::ring_kernel;

namespace {

constexpr unsigned pairs_count = 3;
constexpr unsigned readable = unsigned{EPOLLIN} | unsigned{EPOLLRDHUP} | unsigned{EPOLLET};

enum class step_kind {
  receive,
  receive_all,
  poll_many,
  poll_once,
  cancel_receive,
  cancel_poll,
  send_left,
  send_right,
  write_right,
  read_left,
  read_right,
  shut_right,
};
constexpr unsigned step_kinds = 12;

struct step {
  step_kind kind;
  unsigned pair;
  unsigned bytes;
  bool enter_after;  // else the next step's entry goes with the same submission
};

bool uses_ring(step_kind kind) { return kind <= step_kind::send_right; }

// The script does not depend on what happens, so that every kernel runs the same one.
std::vector<step> make_script(std::uint64_t seed, unsigned steps) {
  small_random random(seed);
  std::vector<step> script;
  for (unsigned index = 0; index < steps; ++index) {
    step next{static_cast<step_kind>(random.below(step_kinds)), random.below(pairs_count),
              random.between(1, 80), random.chance(600)};
    // A shutdown ends a pair's fun: rare.
    if (next.kind == step_kind::shut_right && !random.chance(200))
      next.kind = step_kind::write_right;
    // Linux may run task work in any system call, the model only in an enter: direct calls stand
    // alone.
    if (!uses_ring(next.kind)) {
      next.enter_after = true;
      if (!script.empty()) script.back().enter_after = true;
    }
    script.push_back(next);
  }
  return script;
}

struct outcome {
  step_kind kind{};
  unsigned length = 0;
  std::uint64_t cancels = 0;  // the target, of a cancel
  std::vector<reaped> completions;
  std::string data;
  unsigned after_the_end = 0;

  bool ended() const { return !completions.empty() && !completions.back().goes_on(); }
  int result() const { return completions.back().result; }
};

std::string describe(std::uint64_t id, const outcome& each) {
  static constexpr const char* names[step_kinds] = {
      "receive",   "receive all", "poll many",   "poll once", "cancel",     "cancel",
      "send left", "send right",  "write right", "read left", "read right", "shut right"};
  std::string text = std::to_string(id) + ' ' + names[static_cast<unsigned>(each.kind)];
  if (each.cancels != 0) text += " of " + std::to_string(each.cancels);
  text += ", " + std::to_string(each.length) + " bytes:";
  for (const reaped& one : each.completions) {
    text += ' ' + std::to_string(one.result) + (one.goes_on() ? " and on" : "");
  }
  return text + " \"" + each.data + '"';
}

class player {
 public:
  explicit player(ring& played) : ring_(played) {}

  void play(const std::vector<step>& script) {
    for (const step& each : script) {
      do_step(each);
      if (each.enter_after || ring_.prepared() + 4 > ring_.entries()) enter();
    }
    end_all();
  }

  std::map<std::uint64_t, outcome> outcomes;
  std::vector<std::string> direct;  // what the direct reads saw
  std::size_t written[pairs_count] = {};
  std::size_t received[pairs_count] = {};

 private:
  struct side {
    socket_pair sockets;
    std::uint64_t receive = 0;
    std::uint64_t poll = 0;
  };

  std::uint64_t add(const step& each) {
    const std::uint64_t id = next_id_++;
    outcomes[id].kind = each.kind;
    outcomes[id].length = each.bytes;
    pair_of_[id] = each.pair;
    return id;
  }

  std::string text(unsigned bytes) {
    std::string made(bytes, ' ');
    for (char& letter : made) letter = static_cast<char>('a' + letters_++ % 26);
    return made;
  }

  void do_step(const step& each) {
    side& place = sides_[each.pair];
    switch (each.kind) {
      case step_kind::receive:
      case step_kind::receive_all:
        return do_receive(each, place);
      case step_kind::poll_many:
      case step_kind::poll_once:
        if (place.poll != 0) do_cancel(each, place.poll);
        place.poll = add(each);
        poll_entry(place, each.kind == step_kind::poll_many);
        return;
      case step_kind::cancel_receive:
        return do_cancel(each, place.receive);
      case step_kind::cancel_poll:
        return do_cancel(each, place.poll);
      case step_kind::send_left:
      case step_kind::send_right:
        return do_send(each, place);
      case step_kind::write_right: {
        const std::string bytes = text(each.bytes);
        if (place.sockets.write_right(bytes)) written[each.pair] += bytes.size();
        return;
      }
      case step_kind::read_left:
      case step_kind::read_right: {
        const bool left = each.kind == step_kind::read_left;
        direct.push_back(left ? place.sockets.read_left() : place.sockets.read_right());
        if (left && direct.back() != "EAGAIN") received[each.pair] += direct.back().size();
        return;
      }
      case step_kind::shut_right:
        ::shutdown(place.sockets.right(), SHUT_WR);
        return;
    }
  }

  void poll_entry(side& place, bool many) {
    io_uring_sqe& entry = prepare(ring_, IORING_OP_POLL_ADD, place.sockets.left(), place.poll);
    entry.poll32_events = readable;
    entry.len = many ? IORING_POLL_ADD_MULTI : 0;
  }

  // One at a time: with two, either may be served first.
  void do_receive(const step& each, side& place) {
    if (place.receive != 0) do_cancel(each, place.receive);
    place.receive = add(each);
    std::string& memory = memory_[place.receive];
    memory.resize(each.bytes);
    io_uring_sqe& entry =
        receive(ring_, place.sockets.left(), memory.data(), each.bytes, place.receive);
    if (each.kind == step_kind::receive_all) entry.msg_flags = MSG_WAITALL;
  }

  void do_send(const step& each, side& place) {
    const std::uint64_t id = add(each);
    memory_[id] = text(each.bytes);
    const bool left = each.kind == step_kind::send_left;
    const int fd = left ? place.sockets.left() : place.sockets.right();
    send(ring_, fd, memory_[id].data(), each.bytes, id);
  }

  void do_cancel(const step& each, std::uint64_t target) {
    const std::uint64_t id = add({step_kind::cancel_receive, each.pair, 0, false});
    outcomes[id].cancels = target;
    cancel(ring_, target, id);
  }

  void enter() {
    for (int round = 0; round < 100; ++round) {
      ring_.submit(0, ring::no_deadline, true);
      collect();
      if (ring_.prepared() == 0) return;
    }
    FAIL("the entries are never taken");
  }

  void collect() {
    for (const reaped& each : reap(ring_)) {
      outcome& known = outcomes.at(each.user_data);
      if (known.ended()) ++known.after_the_end;
      known.completions.push_back(each);
      const unsigned pair = pair_of_.at(each.user_data);
      const bool reads = known.kind == step_kind::receive || known.kind == step_kind::receive_all;
      if (each.result <= 0) continue;
      if (reads) {
        known.data = memory_[each.user_data].substr(0, static_cast<std::size_t>(each.result));
        received[pair] += known.data.size();
      }
      if (known.kind == step_kind::send_right)
        written[pair] += static_cast<std::size_t>(each.result);
    }
  }

  void end_all() {
    for (int round = 0; round < 200; ++round) {
      enter();
      std::vector<std::uint64_t> open;
      for (const auto& [id, each] : outcomes) {
        if (!each.ended()) open.push_back(id);
      }
      if (open.empty()) break;
      REQUIRE(round < 199);
      for (const std::uint64_t id : open) {
        if (outcomes[id].cancels == 0)
          do_cancel({step_kind::cancel_receive, pair_of_[id], 0, false}, id);
      }
    }
    for (unsigned index = 0; index < pairs_count; ++index) {
      for (std::string rest = sides_[index].sockets.read_left(); !rest.empty() && rest != "EAGAIN";
           rest = sides_[index].sockets.read_left()) {
        received[index] += rest.size();
      }
    }
  }

  ring& ring_;
  side sides_[pairs_count];
  std::map<std::uint64_t, std::string> memory_;
  std::map<std::uint64_t, unsigned> pair_of_;
  std::uint64_t next_id_ = 1;
  unsigned letters_ = 0;
};

// Edges that come quickly may be told once or twice, and not every kernel says for every socket
// that more is there to read. A cancel still finds what has ended but not been reaped, if the
// machine is busy: what became of its target is compared there.
void forget_what_may_differ(outcome& each) {
  std::vector<reaped>& all = each.completions;
  const bool cancel = each.kind == step_kind::cancel_receive || each.kind == step_kind::cancel_poll;
  for (reaped& one : all) {
    one.flags &= IORING_CQE_F_MORE;
    if (cancel && one.result == -ENOENT) one.result = 0;
  }
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

bool is_cancelled(int result) {
  return result == -ECANCELED || result == -EFAULT || result == -EINTR;
}

bool is_legal(const outcome& each) {
  if (!each.ended() || each.after_the_end > 0) return false;
  const int result = each.result();
  const int length = static_cast<int>(each.length);
  switch (each.kind) {
    case step_kind::receive:
    case step_kind::receive_all:
      return each.completions.size() == 1 &&
             (is_cancelled(result) || (result >= 0 && result <= length));
    case step_kind::send_left:
    case step_kind::send_right:
      return each.completions.size() == 1 &&
             (is_cancelled(result) || result == -EPIPE || (result > 0 && result <= length));
    case step_kind::poll_many:
    case step_kind::poll_once:
      return std::all_of(each.completions.begin(), each.completions.end(), [](const reaped& one) {
        return one.result > 0 || (one.result == -ECANCELED && !one.goes_on());
      });
    case step_kind::cancel_receive:
    case step_kind::cancel_poll:
    case step_kind::write_right:
    case step_kind::read_left:
    case step_kind::read_right:
    case step_kind::shut_right:
      break;
  }
  // Of these only the cancels are entries.
  return each.completions.size() == 1 && (result == 0 || result == -ENOENT || result == -EALREADY);
}

// A cancel that answers 0 has ended its target; what a full receive had moved by then is its
// result.
bool cancel_is_legal(const outcome& cancel, const outcome* target) {
  if (cancel.result() != 0) return true;
  if (target == nullptr) return false;
  const bool partial = target->kind == step_kind::receive_all && target->result() > 0 &&
                       target->result() < static_cast<int>(target->length);
  return target->result() == -ECANCELED || partial;
}

void check_laws(const player& played) {
  for (const auto& [id, each] : played.outcomes) {
    const std::string told = describe(id, each);
    CAPTURE(told);
    CHECK(is_legal(each));
    if (!each.ended() || each.cancels == 0) continue;
    const auto target = played.outcomes.find(each.cancels);
    CHECK(cancel_is_legal(each, target == played.outcomes.end() ? nullptr : &target->second));
  }
  for (unsigned index = 0; index < pairs_count; ++index) {
    CAPTURE(index);
    CHECK(played.received[index] == played.written[index]);
  }
}

constexpr unsigned script_steps = 120;

// What a run has come to, a line for each direct read and each entry.
std::vector<std::string> told(const player& played) {
  std::vector<std::string> lines = played.direct;
  for (const auto& [id, each] : played.outcomes) {
    outcome compared = each;
    forget_what_may_differ(compared);
    lines.push_back(describe(id, compared));
  }
  return lines;
}

std::vector<std::string> play_on_model(const std::vector<step>& script) {
  scripted_kernel model;
  ring scripted;
  REQUIRE(scripted.open(model, {}) == 0);
  player on_model(scripted);
  on_model.play(script);
  check_laws(on_model);
  CHECK(model.in_flight() == 0);
  return told(on_model);
}

std::vector<std::string> play_on_linux(const std::vector<step>& script, ring& real) {
  player on_linux(real);
  on_linux.play(script);
  check_laws(on_linux);
  return told(on_linux);
}

/// Returns the first lines that differ, for the log: the next failure may be rare, too.
std::string first_difference(const std::vector<std::string>& model,
                             const std::vector<std::string>& linux_lines) {
  const auto [left, right] =
      std::mismatch(model.begin(), model.end(), linux_lines.begin(), linux_lines.end());
  return "the model: " + (left == model.end() ? "nothing" : *left) +
         "; Linux: " + (right == linux_lines.end() ? "nothing" : *right);
}

constexpr unsigned scripts = 500;

// A busy Linux may be late, and then a script goes another way: on the ring, and also on the model,
// whose operations do their work on real sockets. So both play a script again if they differ. A
// model that is wrong differs each time; one that is wrong now and then makes more plays than
// lateness, which is rare.
constexpr int plays_max = 20;
constexpr unsigned repeats_max = scripts / 5;

}  // namespace

TEST_CASE("model: a calm scripted kernel gives every operation the outcome that Linux gives") {
  beck::uring::posix_ring_kernel linux_kernel;
  unsigned repeats = 0;
  for (std::uint64_t seed = 1; seed <= scripts; ++seed) {
    CAPTURE(seed);
    const std::vector<step> script = make_script(seed, script_steps);
    std::vector<std::string> given;
    std::vector<std::string> expected;
    for (int play = 0; play < plays_max && (play == 0 || expected != given); ++play) {
      if (play > 0) ++repeats;
      ring real;
      const beck::uring::probe_result probed = open_probed(real, linux_kernel, {});
      NEEDS_RING(probed);
      expected = play_on_linux(script, real);
      given = play_on_model(script);
      if (given != expected)
        MESSAGE("play " << play << " of seed " << seed << ": "
                        << first_difference(given, expected));
    }
    REQUIRE(given.size() == expected.size());
    for (std::size_t line = 0; line < given.size(); ++line) CHECK(given[line] == expected[line]);
  }
  CHECK(repeats <= repeats_max);
}

TEST_CASE("model: a rough scripted kernel breaks none of the laws that Linux keeps") {
  for (std::uint64_t seed = 1; seed <= scripts; ++seed) {
    CAPTURE(seed);
    scripted_kernel model(seed);
    model.set_chances(rough_chances);
    ring scripted;
    REQUIRE(scripted.open(model, {.entries = 16, .completions = 16}) == 0);
    player played(scripted);
    played.play(make_script(seed, script_steps));
    check_laws(played);
    CHECK(model.in_flight() == 0);
  }
}
