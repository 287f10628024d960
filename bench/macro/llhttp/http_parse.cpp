// SPDX-License-Identifier: BSL-1.0
//
// Heads and bodies with llhttp, whose callbacks put the parts of a head into an array.
#include <llhttp.h>

#include <array>

#include "../common/http_messages.hpp"

namespace {

class parser {
 public:
  parser() {
    llhttp_settings_init(&settings_);
    settings_.on_url = [](llhttp_t* from, const char* at, std::size_t bytes) {
      parser& p = of(from);
      p.fields_ = 0;
      p.extend(p.target_, at, bytes);
      return 0;
    };
    settings_.on_header_field = [](llhttp_t* from, const char* at, std::size_t bytes) {
      parser& p = of(from);
      p.extend(p.names_[p.fields_], at, bytes);
      return 0;
    };
    settings_.on_header_value = [](llhttp_t* from, const char* at, std::size_t bytes) {
      parser& p = of(from);
      p.extend(p.values_[p.fields_], at, bytes);
      return 0;
    };
    settings_.on_header_value_complete = [](llhttp_t* from) {
      parser& p = of(from);
      return ++p.fields_ == p.names_.size() ? -1 : 0;
    };
    settings_.on_body = [](llhttp_t* from, const char*, std::size_t bytes) {
      of(from).body_bytes_ += bytes;
      return 0;
    };
    settings_.on_message_complete = [](llhttp_t* from) {
      parser& p = of(from);
      p.all_fields_ += p.fields_;
      p.is_whole_ = true;
      return 0;
    };
    llhttp_init(&llhttp_, HTTP_REQUEST, &settings_);
    llhttp_.data = this;
  }
  parser(const parser&) = delete;
  parser& operator=(const parser&) = delete;

  std::size_t parse(std::string_view text) {
    begin();
    const bool ok = llhttp_execute(&llhttp_, text.data(), text.size()) == HPE_OK;
    return ok && is_whole_ ? all_fields_ : 0;
  }

  std::size_t parse_bytes(std::string_view text) {
    begin();
    for (const char& each : text)
      if (llhttp_execute(&llhttp_, &each, 1) != HPE_OK) return 0;
    return is_whole_ ? all_fields_ : 0;
  }

  std::size_t parse_body(std::string_view text) { return parse(text) != 0 ? body_bytes_ : 0; }

 private:
  static parser& of(llhttp_t* from) { return *static_cast<parser*>(from->data); }

  void begin() {
    all_fields_ = body_bytes_ = 0;
    is_whole_ = false;
  }

  // A part may come in pieces, which lie behind each other here.
  static void extend(std::string_view& part, const char* at, std::size_t bytes) {
    const bool continues = part.data() + part.size() == at;
    part = continues ? std::string_view(part.data(), part.size() + bytes)
                     : std::string_view(at, bytes);
  }

  llhttp_t llhttp_;
  llhttp_settings_t settings_;
  std::string_view target_;
  std::array<std::string_view, 128> names_;
  std::array<std::string_view, 128> values_;
  std::size_t fields_ = 0;
  std::size_t all_fields_ = 0;
  std::size_t body_bytes_ = 0;
  bool is_whole_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "http_parse",
                          {{"head_37", bench::parse_whole<parser>},
                           {"head_109", bench::parse_whole<parser>},
                           {"head_703", bench::parse_whole<parser>},
                           {"pipelined", bench::parse_whole<parser>},
                           {"split", bench::parse_bytes<parser>},
                           {"chunked", bench::parse_body<parser>}});
}
