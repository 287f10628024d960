// SPDX-License-Identifier: BSL-1.0
// The conditions of a request, in the order of RFC 9110, section 13.2.2.
#include <beck/http/conditions.hpp>

#include <beck/http/date.hpp>
#include <beck/http/entity_tag.hpp>

namespace beck::http {
namespace {

/// Looks for a tag in all fields `f`, which together are one list.
tag_match match_fields(const head& in, field f, const entity_tag& tag,
                       tag_comparison how) noexcept {
  tag_match all = tag_match::none;
  for (const field_view each : in) {
    if (each.id != f) continue;
    const tag_match match = match_tags(each.value, tag, how);
    if (match == tag_match::malformed || (match == tag_match::any && in.repeats(f)))
      return tag_match::malformed;
    if (match != tag_match::none) all = match;
  }
  return all;
}

/// Reads the date in a field that may occur only once.
bool find_date(const head& in, field f, std::int64_t now, std::int64_t& seconds) noexcept {
  return in.has(f) && !in.repeats(f) && parse_date(in.get(f), now, seconds);
}

bool may_change(const request_head& in, const representation_state& state, const entity_tag& tag,
                std::int64_t now) noexcept {
  if (in.has(field::if_match)) {
    const tag_match match = match_fields(in, field::if_match, tag, tag_comparison::strong);
    return match == tag_match::found || (match == tag_match::any && state.exists);
  }
  std::int64_t since = 0;
  return !state.has_last_modified || !find_date(in, field::if_unmodified_since, now, since) ||
         state.last_modified <= since;
}

bool is_new(const request_head& in, const representation_state& state, const entity_tag& tag,
            bool is_read, std::int64_t now) noexcept {
  if (in.has(field::if_none_match)) {
    const tag_match match = match_fields(in, field::if_none_match, tag, tag_comparison::weak);
    if (match == tag_match::malformed) return is_read;
    return match == tag_match::none || (match == tag_match::any && !state.exists);
  }
  std::int64_t since = 0;
  return !is_read || !state.has_last_modified ||
         !find_date(in, field::if_modified_since, now, since) || state.last_modified > since;
}

bool is_unchanged(const request_head& in, const representation_state& state, const entity_tag& tag,
                  std::int64_t now) noexcept {
  if (!in.has(field::if_range)) return true;
  if (in.repeats(field::if_range)) return false;
  entity_tag wanted;
  if (parse_entity_tag(in.get(field::if_range), wanted))
    return is_equal(wanted, tag, tag_comparison::strong);
  std::int64_t date = 0;
  return state.has_last_modified && find_date(in, field::if_range, now, date) &&
         date == state.last_modified && date < now;
}

}  // namespace

condition_result functions::evaluate_conditions(const request_head& head,
                                                const representation_state& state,
                                                std::int64_t now) noexcept {
  const method asked = head.method();
  if (asked == method::connect || asked == method::options || asked == method::trace) return {};
  const bool is_read = asked == method::get || asked == method::head;
  entity_tag tag;
  static_cast<void>(state.exists && parse_entity_tag(state.etag, tag));
  if (!may_change(head, state, tag, now)) return {condition_status::precondition_failed, false};
  if (!is_new(head, state, tag, is_read, now))
    return {is_read ? condition_status::not_modified : condition_status::precondition_failed,
            false};
  const bool has_range =
      asked == method::get && head.has(field::range) && !head.repeats(field::range) && state.exists;
  return {condition_status::proceed, has_range && is_unchanged(head, state, tag, now)};
}

}  // namespace beck::http
