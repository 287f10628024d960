// SPDX-License-Identifier: BSL-1.0
// Two engines and a network between them that the input directs: it splits, changes, repeats and
// drops bytes, and lets both sides write, update keys and end. What is decrypted is the beginning
// of what was encrypted; a failure has a reason; the rest is left to the assertions of the engine
// and to AddressSanitizer.
#include <beck/tls/client_context.hpp>
#include <beck/tls/server_context.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tls/contexts.hpp"
#include "tls/engine_feed.hpp"
#include "tls/identities.hpp"
#include "tls/seeded_random.hpp"

namespace {

using namespace beck::tls;
using namespace beck::tls::test;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "oracle: %s\n", what);
  std::abort();
}

/// Contexts of one version, made once.
struct contexts {
  explicit contexts(version both)
      : identity(files().chain(made::good), files().key(made::good),
                 server_options().resumption(false).versions(both, both)),
        trust(client_options()
                  .trust(authorities().file(files().path("root.pem")))
                  .resumption(false)) {}
  static const identity_files& files() {
    static const identity_files all;
    return all;
  }

  server_context identity;
  client_context trust;
};

/// One end, and what the other one has sent to it.
struct end_point {
  explicit end_point(detail::ssl_ptr prepared) : e(std::move(prepared)) {}

  engine e;
  std::string wire;     // on its way to it
  std::string written;  // by it, in the clear
  std::string read;     // by it
  std::int64_t now = 1;
};

class play {
 public:
  play(contexts& of, std::string_view input)
      : client_(of.trust.state().make_session("example.com")),
        server_(of.identity.state().make_session()),
        input_(input) {}

  void run() {
    client_.e.shake();
    server_.wire += output_of(client_.e);
    while (!input_.empty()) {
      const unsigned what = byte();
      end_point& one = (what & 0x80) != 0 ? client_ : server_;
      end_point& other = &one == &client_ ? server_ : client_;
      act(what & 0x0f, one, other);
      check(one, other);
      check(other, one);
    }
  }

 private:
  unsigned byte() {
    if (input_.empty()) return 0;
    const auto value = static_cast<unsigned char>(input_[0]);
    input_.remove_prefix(1);
    return value;
  }

  void act(unsigned what, end_point& one, end_point& other) {
    const std::size_t size = byte() * 64 + byte();
    switch (what) {
      case 0:  // garbage
        one.wire.insert(0, input_.substr(0, size));
        input_.remove_prefix(std::min(size, input_.size()));
        spoilt_ = spoilt_ || size != 0;
        break;
      case 1:  // a changed bit
        if (size < one.wire.size()) {
          one.wire[size] = static_cast<char>(one.wire[size] ^ (1 << (byte() & 7)));
          spoilt_ = true;
        }
        break;
      case 2:  // a lost piece
        if (size != 0 && !one.wire.empty()) {
          one.wire.erase(0, size);
          spoilt_ = true;
        }
        break;
      case 3:
        write(one, other, size);
        break;
      case 4:
        write(one, other, 9 * size);
        break;
      case 5:
        if (one.e.state() == engine_state::open)
          SSL_key_update(one.e.ssl(), SSL_KEY_UPDATE_REQUESTED);
        break;
      case 6:
        one.e.end();
        other.wire += output_of(one.e);
        break;
      case 7:
        one.now += 2'000'000'000;
        break;
      default: {  // bytes arrive
        const std::string piece = one.wire.substr(0, what == 8 ? size : one.wire.size());
        one.wire.erase(0, piece.size());
        one.read += feed(one.e, piece, other.wire);
      }
    }
  }

  static void write(end_point& one, end_point& other, std::size_t size) {
    if (one.e.state() != engine_state::open && one.e.state() != engine_state::ended) return;
    std::string text;
    for (std::size_t i = 0; i < size; ++i)
      text += static_cast<char>(one.written.size() + i * 7 + i / 251);
    const std::size_t third = size / 3;
    const beck::const_buffer parts[] = {{text.data(), third},
                                        {text.data() + third, text.size() - third}};
    const std::size_t taken = one.e.write(beck::const_buffer_span(parts, 2), one.now);
    require(taken <= size, "more was written than there was");
    one.written.append(text, 0, taken);
    other.wire += output_of(one.e);
  }

  void check(const end_point& one, const end_point& other) const {
    require(one.read.size() <= other.written.size() &&
                other.written.compare(0, one.read.size(), one.read) == 0,
            "other bytes were read than were written");
    if (one.e.state() != engine_state::failed) return;
    require(static_cast<bool>(one.e.error()), "a failure without a code");
    require(!one.e.error_text().empty(), "a failure without a sentence");
    // Without a change of the bytes only key updates without end are a reason to fail.
    if (!spoilt_ && one.e.error() != error::too_many_messages)
      std::fprintf(stderr, "%s\n", std::string(one.e.error_text()).c_str());
    require(spoilt_ || one.e.error() == error::too_many_messages, "a good peer is refused");
  }

  end_point client_, server_;
  std::string_view input_;
  bool spoilt_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static contexts v12(version::tls_1_2), v13(version::tls_1_3);
  if (size == 0) return 0;
  const seeded_random repeatable("fuzz");
  play(data[0] % 2 == 0 ? v13 : v12, {reinterpret_cast<const char*>(data) + 1, size - 1}).run();
  return 0;
}
