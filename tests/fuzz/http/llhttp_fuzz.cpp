// SPDX-License-Identifier: BSL-1.0
// Requests beside llhttp, the parser of Node.js, in its strict mode: what beck accepts llhttp
// accepts, too, with the same fields, framing, end and body. It may accept more.
#include <llhttp.h>

#include <vector>

#include <beck/http/body_decoder.hpp>
#include <beck/http/parser.hpp>

#include "fuzz/http/fuzz.hpp"

namespace {

using namespace beck::http;
using namespace beck::http::fuzz;

/// What llhttp says of the first message.
struct reading {
  std::string target;
  std::vector<std::pair<std::string, std::string>> fields;
  std::string body;
  bool has_head = false;
  bool is_whole = false;
  bool is_chunked = false;
  bool keeps_alive = false;
};

reading& of(llhttp_t* parser) { return *static_cast<reading*>(parser->data); }

llhttp_settings_t make_settings() {
  llhttp_settings_t s;
  llhttp_settings_init(&s);
  s.on_url = [](llhttp_t* p, const char* at, std::size_t bytes) {
    of(p).target.append(at, bytes);
    return 0;
  };
  s.on_header_field = [](llhttp_t* p, const char* at, std::size_t bytes) {
    reading& r = of(p);
    if (r.has_head) return 0;  // a trailer
    if (r.fields.empty() || !r.fields.back().second.empty()) r.fields.emplace_back();
    r.fields.back().first.append(at, bytes);
    return 0;
  };
  s.on_header_value = [](llhttp_t* p, const char* at, std::size_t bytes) {
    if (!of(p).has_head) of(p).fields.back().second.append(at, bytes);
    return 0;
  };
  s.on_header_value_complete = [](llhttp_t* p) {
    if (!of(p).has_head) of(p).fields.back().second += '\n';  // the next name begins a field
    return 0;
  };
  s.on_headers_complete = [](llhttp_t* p) {
    reading& r = of(p);
    r.has_head = true;
    r.is_chunked = (p->flags & F_CHUNKED) != 0;
    r.keeps_alive = llhttp_should_keep_alive(p) != 0;
    return 0;
  };
  s.on_body = [](llhttp_t* p, const char* at, std::size_t bytes) {
    of(p).body.append(at, bytes);
    return 0;
  };
  s.on_message_complete = [](llhttp_t* p) -> int {
    of(p).is_whole = true;
    return HPE_PAUSED;
  };
  return s;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\n'))
    text.remove_suffix(1);
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

/// Where llhttp is the stricter one, and why that is no mistake of beck's.
bool is_only_stricter(llhttp_errno_t error, const request_head& head, std::string_view text) {
  // It knows a list of methods, some with rules of their own, and takes absolute targets apart.
  if (head.method() == method::other) return true;
  if (error == HPE_INVALID_URL) return head.target()[0] != '/';
  // It allows spaces around a length, but not the tabs that RFC 9110, section 5.5, allows, too.
  return error == HPE_INVALID_CONTENT_LENGTH && text.find('\t') != std::string_view::npos;
}

void compare_heads(const request_head& head, const reading& other) {
  require_equal(head.target(), other.target, "llhttp reads another target");
  require(head.size() == other.fields.size(), "llhttp reads another number of fields");
  for (unsigned i = 0; i < head.size(); ++i) {
    require_equal(head[i].name, other.fields[i].first, "llhttp reads another name");
    require_equal(head[i].value, trimmed(other.fields[i].second), "llhttp reads another value");
  }
  require((head.framing() == body_framing::chunked) == other.is_chunked,
          "llhttp reads another framing");
  if (head.keeps_alive()) require(other.keeps_alive, "llhttp closes");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const llhttp_settings_t settings = make_settings();
  const exact_copy input(beck::http::fuzz::text_of(data, size));
  request_parser parser;
  request_head head;
  if (parser.parse(input.view(), head) != parse_status::done) return 0;

  reading other;
  llhttp_t llhttp;
  llhttp_init(&llhttp, HTTP_REQUEST, &settings);
  llhttp.data = &other;
  const llhttp_errno_t error = llhttp_execute(&llhttp, input.view().data(), input.view().size());
  if (!other.has_head) {
    if (!is_only_stricter(error, head, input.view().substr(0, head.bytes()))) {
      std::fprintf(stderr, "llhttp: %s: %s\n", llhttp_errno_name(error),
                   llhttp_get_error_reason(&llhttp));
      require(false, "llhttp refuses what beck accepts");
    }
    return 0;
  }
  compare_heads(head, other);
  if (head.method() == method::connect || error == HPE_PAUSED_UPGRADE) return 0;

  body_decoder decoder(head);
  std::string_view rest = input.view().substr(head.bytes());
  std::string body;
  for (;;) {
    const body_part part = decoder.decode(rest);
    body += part.data;
    rest.remove_prefix(part.consumed);
    if (part.status == parse_status::refused) return 0;
    if (part.status == parse_status::done) break;
    if (part.consumed == 0) return 0;
  }
  if (!other.is_whole) {  // it refuses some chunk extensions that RFC 9112 allows
    require(error != HPE_OK && head.framing() == body_framing::chunked &&
                input.view().find(';') != std::string_view::npos,
            "llhttp does not find the end");
    return 0;
  }
  require_equal(body, other.body, "llhttp reads another body");
  const char* const end = llhttp_get_error_pos(&llhttp);
  require(end == nullptr || end == rest.data() || error != HPE_PAUSED, "llhttp reads another end");
  return 0;
}
