// SPDX-License-Identifier: BSL-1.0
//
// Heads with picohttpparser. Debian's libh2o contains it, but no header: what is called is declared
// here, from its documentation.
#include <array>

#include "../common/http_messages.hpp"

extern "C" {

struct phr_header {
  const char* name;
  std::size_t name_len;
  const char* value;
  std::size_t value_len;
};

// Returns the bytes of the head, -2 if it is not whole, -1 if it is malformed.
int phr_parse_request(const char* text, std::size_t bytes, const char** method,
                      std::size_t* method_bytes, const char** target, std::size_t* target_bytes,
                      int* minor_version, phr_header* fields, std::size_t* field_count,
                      std::size_t bytes_before);

}  // extern "C"

namespace {

class parser {
 public:
  std::size_t parse(std::string_view text) {
    std::size_t fields = 0;
    while (!text.empty()) {
      const int bytes = parse_head(text, 0);
      if (bytes <= 0) return 0;
      fields += count_;
      text.remove_prefix(static_cast<std::size_t>(bytes));
    }
    return fields;
  }

  std::size_t parse_bytes(std::string_view text) {
    int bytes = 0;
    for (std::size_t n = 1; n <= text.size(); ++n) bytes = parse_head(text.substr(0, n), n - 1);
    return bytes > 0 ? count_ : 0;
  }

 private:
  int parse_head(std::string_view text, std::size_t bytes_before) {
    count_ = fields_.size();
    return phr_parse_request(text.data(), text.size(), &method_, &method_bytes_, &target_,
                             &target_bytes_, &minor_version_, fields_.data(), &count_,
                             bytes_before);
  }

  const char* method_ = nullptr;
  const char* target_ = nullptr;
  std::size_t method_bytes_ = 0;
  std::size_t target_bytes_ = 0;
  std::size_t count_ = 0;
  int minor_version_ = 0;
  std::array<phr_header, 128> fields_;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "http_parse",
                          {{"head_37", bench::parse_whole<parser>},
                           {"head_109", bench::parse_whole<parser>},
                           {"head_703", bench::parse_whole<parser>},
                           {"pipelined", bench::parse_whole<parser>},
                           {"split", bench::parse_bytes<parser>}});
}
