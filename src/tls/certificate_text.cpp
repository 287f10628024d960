// SPDX-License-Identifier: BSL-1.0
// Reads names and dates from certificates, without relying on their lengths or their bytes.
#include "tls/failure.hpp"

#include <openssl/x509v3.h>

#include <chrono>
#include <cstdio>
#include <ctime>

#include "tls/openssl.hpp"

namespace beck::tls::detail {
namespace {

std::string_view view_of(const ASN1_STRING* text) noexcept {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

/// Returns the address of an iPAddress of 4 or 16 bytes as text.
std::string address_text(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(bytes[i]) & 0xffU; };
  char text[48] = "";
  if (bytes.size() == 4) {
    std::snprintf(text, sizeof text, "%u.%u.%u.%u", byte(0), byte(1), byte(2), byte(3));
    return text;
  }
  if (bytes.size() != 16) return "a malformed address";
  std::string all;
  for (std::size_t i = 0; i < 16; i += 2) {
    std::snprintf(text, sizeof text, i == 0 ? "%x" : ":%x", byte(i) << 8 | byte(i + 1));
    all += text;
  }
  return all;
}

/// Returns the common name, or the whole name in one line.
std::string text_of(const X509_NAME* name, const char* if_empty) {
  const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  if (at >= 0) {
    return printable(view_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at))), 80);
  }
  if (X509_NAME_entry_count(name) == 0) return if_empty;
  const bio_ptr bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253) < 0)
    return if_empty;
  char* text = nullptr;
  const long bytes = BIO_get_mem_data(bio.get(), &text);
  return printable({text, static_cast<std::size_t>(bytes)}, 80);
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  std::string made(text.substr(0, most));
  for (char& c : made) {
    if (c < ' ' || c > '~') c = '?';
  }
  if (text.size() > most) made += "...";
  return made;
}

std::vector<std::string> names_of(const X509& certificate, std::size_t most) {
  std::vector<std::string> found;
  const names_ptr names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    if (found.size() == most) break;
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS)
      found.push_back(lower_case(printable(view_of(name->d.dNSName), 255)));
    if (name->type == GEN_IPADD) found.push_back(address_text(view_of(name->d.iPAddress)));
  }
  return found;
}

std::string name_list(const X509& certificate) {
  constexpr std::size_t shown_max = 4;
  const std::vector<std::string> names = names_of(certificate, 100);
  if (names.empty()) return "no name";
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < shown_max; ++i) {
    if (i != 0) text += ", ";
    text += names[i].substr(0, 80);
  }
  if (names.size() > shown_max)
    text += " and " + std::to_string(names.size() - shown_max) + " more";
  return text;
}

std::string subject_of(const X509& certificate) {
  return text_of(X509_get_subject_name(&certificate), "an empty subject");
}

std::string issuer_of(const X509& certificate) {
  return text_of(X509_get_issuer_name(&certificate), "an empty name");
}

std::int64_t seconds_of(const ASN1_TIME* time) noexcept {
  std::tm parts = {};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  const std::chrono::sys_days day = std::chrono::year(parts.tm_year + 1900) /
                                    std::chrono::month(static_cast<unsigned>(parts.tm_mon + 1)) /
                                    std::chrono::day(static_cast<unsigned>(parts.tm_mday));
  const std::chrono::seconds time_of_day = std::chrono::hours(parts.tm_hour) +
                                           std::chrono::minutes(parts.tm_min) +
                                           std::chrono::seconds(parts.tm_sec);
  return (std::chrono::sys_seconds(day) + time_of_day).time_since_epoch().count();
}

std::string date_text(std::int64_t seconds) {
  const std::chrono::sys_seconds when{std::chrono::seconds(seconds)};
  const auto days = std::chrono::floor<std::chrono::days>(when);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss<std::chrono::seconds> time(when - days);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u %02d:%02d:%02d UTC", int(date.year()),
                unsigned(date.month()), unsigned(date.day()), int(time.hours().count()),
                int(time.minutes().count()), int(time.seconds().count()));
  return text;
}

std::string description_of(const X509& certificate) {
  std::string who = name_list(certificate);
  if (who == "no name") who = "\"" + subject_of(certificate) + "\"";
  return "certificate for " + who + ", issued by \"" + issuer_of(certificate) + "\", valid from " +
         date_text(seconds_of(X509_get0_notBefore(&certificate))) + " to " +
         date_text(seconds_of(X509_get0_notAfter(&certificate)));
}

}  // namespace beck::tls::detail
