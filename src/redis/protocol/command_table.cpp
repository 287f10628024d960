// SPDX-License-Identifier: BSL-1.0
// The table of commands, and how their keys are found. A hash table that the compiler makes leads
// from a name to its row; a key specification is interpreted as the server does it.
#include <beck/redis/command_table.hpp>

#include <array>
#include <charconv>
#include <cstring>
#include <iterator>
#include <system_error>

#include <beck/base/assert.hpp>

namespace beck::redis {
namespace {

// The facts in a row.
constexpr unsigned writes = 0;
constexpr unsigned reads = 1;             // changes nothing
constexpr unsigned blocks = 2;            // waits for other clients
constexpr unsigned blocks_by_option = 4;  // the same, only with BLOCK
constexpr unsigned needs_lane = 8;        // changes the state of its connection
constexpr unsigned relayed = 16;          // takes its connection over
constexpr unsigned container = 32;        // has subcommands
constexpr unsigned subcommand = 256;      // of a container
constexpr unsigned split_shift = 6;       // a split_kind
constexpr unsigned split_mask = 3;
constexpr unsigned split_sum = static_cast<unsigned>(split_kind::sum) << split_shift;
constexpr unsigned split_values = static_cast<unsigned>(split_kind::values) << split_shift;
constexpr unsigned split_all = static_cast<unsigned>(split_kind::all) << split_shift;

/// Where some keys of a command are. A value.
struct key_place {
  enum class kind : std::uint8_t {
    none,
    range,    ///< from the beginning to a last place, with a step
    counted,  ///< an argument is their number
    sort,     ///< SORT: the first argument, and the one behind the last STORE
    migrate,  ///< MIGRATE: the third argument, or if that is empty those behind KEYS
  };

  const char* keyword = nullptr;  // the keys begin behind it; nullptr: at `start`
  std::int16_t start = 0;  // an index; of a keyword: where its search begins, < 0: from the end
  kind how = kind::none;
  std::int16_t last = 0;     // of a range: from the first key on; < 0: from the end of the command
  std::int16_t step = 1;     // from one key to the next
  std::int16_t limit = 0;    // of a range to the end: only the first 1/limit of it; 0, 1: all
  std::int16_t number = 0;   // of counted: where the number is, from the start on
  std::int16_t first = 0;    // of counted: where the first key is, from the start on
  bool may_be_none = false;  // of counted: the number may be 0

  /// Sets the only key.
  constexpr key_place key() const noexcept { return range(0, 1, 0); }
  /// Sets the keys as a range.
  constexpr key_place range(int last_key, int key_step, int part) const noexcept {
    key_place place = *this;
    place.how = kind::range;
    place.last = static_cast<std::int16_t>(last_key);
    place.step = static_cast<std::int16_t>(key_step);
    place.limit = static_cast<std::int16_t>(part);
    return place;
  }
  /// Sets the keys as counted ones.
  constexpr key_place counted(int number_at, int first_key, int key_step) const noexcept {
    key_place place = *this;
    place.how = kind::counted;
    place.number = static_cast<std::int16_t>(number_at);
    place.first = static_cast<std::int16_t>(first_key);
    place.step = static_cast<std::int16_t>(key_step);
    return place;
  }
  /// As above; the number may be 0.
  constexpr key_place counted_or_none(int number_at, int first_key, int key_step) const noexcept {
    key_place place = counted(number_at, first_key, key_step);
    place.may_be_none = true;
    return place;
  }
};

constexpr key_place at(int index) noexcept {
  key_place place;
  place.start = static_cast<std::int16_t>(index);
  return place;
}

constexpr key_place after(const char* keyword, int search_from) noexcept {
  key_place place = at(search_from);
  place.keyword = keyword;
  return place;
}

constexpr key_place sort_keys() noexcept {
  key_place place;
  place.how = key_place::kind::sort;
  return place;
}

constexpr key_place migrate_keys() noexcept {
  key_place place;
  place.how = key_place::kind::migrate;
  return place;
}

constexpr unsigned places_max = 3;

}  // namespace

namespace detail {

struct command_row {
  std::string_view name;  // in small letters; a subcommand as "config|get"
  std::int8_t arity;
  std::uint16_t facts;
  key_place places[places_max] = {};
};

}  // namespace detail

namespace {

using detail::command_row;

constexpr command_row make_row(std::string_view name, int arity, unsigned facts,
                               key_place first = {}, key_place second = {},
                               key_place third = {}) noexcept {
  if (name.find('|') != name.npos) facts |= subcommand;
  return {name,
          static_cast<std::int8_t>(arity),
          static_cast<std::uint16_t>(facts),
          {first, second, third}};
}

#define BECK_REDIS_COMMAND(...) make_row(__VA_ARGS__),
constexpr command_row rows[] = {
#include "redis/protocol/command_table.def"
#include "redis/protocol/command_table_later.def"
};
#undef BECK_REDIS_COMMAND

constexpr std::size_t name_max = 64;   // longer names are unknown
constexpr std::size_t buckets = 2048;  // at most half of them full
constexpr std::uint16_t no_row = 0xffff;
static_assert(std::size(rows) <= buckets / 2, "make the hash table larger");

static_assert(
    [] {
      const command_row* above = rows;
      for (const command_row& row : rows) {
        const std::size_t bar = row.name.find('|');
        if (bar == row.name.npos) above = &row;
        if (bar == row.name.npos) continue;
        const command_row* of = row.name.substr(0, bar) == above->name ? above : rows;
        while (of != above && of->name != row.name.substr(0, bar)) ++of;
        const bool is_below = of->name == row.name.substr(0, bar);
        if (!is_below || (of->facts & container) == 0) return false;
      }
      return true;
    }(),
    "a subcommand is behind its container");

constexpr char small(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

constexpr std::uint32_t hash_of(std::string_view text, std::uint32_t hash = 2166136261U) noexcept {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(small(c))) * 16777619U;
  return hash;
}

constexpr std::size_t bucket_of(std::uint32_t hash) noexcept {
  return (hash ^ hash >> 15) % buckets;
}

constexpr std::array<std::uint16_t, buckets> make_index() noexcept {
  std::array<std::uint16_t, buckets> index{};
  for (std::uint16_t& row : index) row = no_row;
  for (std::size_t row = 0; row < std::size(rows); ++row) {
    std::size_t bucket = bucket_of(hash_of(rows[row].name));
    while (index[bucket] != no_row) bucket = (bucket + 1) % buckets;
    index[bucket] = static_cast<std::uint16_t>(row);
  }
  return index;
}

constexpr auto index_of_names = make_index();

/// Returns whether `text` is `small_text`, which is in small letters.
constexpr bool is_same(std::string_view text, std::string_view small_text) noexcept {
  if (text.size() != small_text.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (small(text[i]) != small_text[i]) return false;
  return true;
}

/// Returns whether `row` is called `name`, or `name|sub`.
constexpr bool is_called(const command_row& row, std::string_view name, std::string_view sub) {
  if (sub.empty()) return is_same(name, row.name);
  return row.name.size() == name.size() + 1 + sub.size() && row.name[name.size()] == '|' &&
         is_same(name, row.name.substr(0, name.size())) &&
         is_same(sub, row.name.substr(name.size() + 1));
}

const command_row* find(std::string_view name, std::string_view sub, std::uint32_t hash) noexcept {
  for (std::size_t bucket = bucket_of(hash); index_of_names[bucket] != no_row;
       bucket = (bucket + 1) % buckets) {
    const command_row& row = rows[index_of_names[bucket]];
    if (is_called(row, name, sub)) return &row;
  }
  return nullptr;
}

/// Returns the number that a text is; -1 if it is none, or negative.
long long number_of(std::string_view text) noexcept {
  long long number = 0;
  const std::from_chars_result end =
      std::from_chars(text.data(), text.data() + text.size(), number);
  const bool good = end.ec == std::errc() && end.ptr == text.data() + text.size();
  return good && number >= 0 ? number : -1;
}

/// Finds the keyword of a place. Returns the index behind it; 0 if it is not there.
/// As the server does it, the last argument is never taken for the keyword of a search forward.
std::size_t behind_keyword(const arguments& command, const key_place& place) noexcept {
  const std::size_t count = command.size();
  if (place.start >= 0) {
    for (std::size_t i = static_cast<std::size_t>(place.start); i + 1 < count; ++i)
      if (is_same(command[i], place.keyword)) return i + 1;
    return 0;
  }
  const auto back = static_cast<std::size_t>(-place.start);
  for (std::size_t i = count > back ? count - back : 0; i > 0; --i)
    if (is_same(command[i], place.keyword)) return i + 1;
  return 0;
}

}  // namespace

const command_row* detail::find_row(const arguments& command) noexcept {
  if (command.size() == 0) return nullptr;
  const std::string_view name = command[0];
  if (name.size() > name_max) return nullptr;
  const std::uint32_t hash = hash_of(name);
  const command_row* const row = find(name, {}, hash);
  if (row == nullptr || (row->facts & (container | subcommand)) == 0) return row;
  if ((row->facts & subcommand) != 0) return nullptr;  // no command is called "config|get"
  if (command.size() == 1) return row;
  const std::string_view sub = command[1];
  if (sub.empty() || sub.size() > name_max) return row;
  return find(name, sub, hash_of(sub, hash_of("|", hash)));  // an unknown one may do anything
}

/// The options may have any order, also GROUP. One that is not known is taken for a single word.
std::size_t detail::find_block(const arguments& command) noexcept {
  std::size_t block = 0;
  for (std::size_t i = 1; i < command.size() && !is_same(command[i], "streams"); ++i) {
    const std::string_view option = command[i];
    if (is_same(option, "block")) block = i;
    if (is_same(option, "block") || is_same(option, "count") || is_same(option, "claim")) {
      ++i;
    } else if (is_same(option, "group")) {
      i += 2;
    }
  }
  return block;
}

command_facts functions::facts_of(const arguments& command) noexcept {
  command_facts facts;
  const command_row* const row = detail::find_row(command);
  if (row == nullptr) return facts;
  facts.is_known_ = true;
  facts.is_read_only_ = (row->facts & reads) != 0;
  facts.is_blocking_ = (row->facts & blocks) != 0 ||
                       ((row->facts & blocks_by_option) != 0 && detail::find_block(command) != 0);
  facts.is_relayed_only_ = (row->facts & relayed) != 0;
  facts.needs_lane_ = facts.is_blocking_ || (row->facts & (needs_lane | relayed)) != 0;
  facts.may_have_keys_ = row->places[0].how != key_place::kind::none;
  facts.split_ = static_cast<split_kind>((row->facts >> split_shift) & split_mask);
  facts.arity_ = row->arity;
  return facts;
}

key_cursor::key_cursor(const arguments& command) noexcept : command_(command) {
  const command_row* const row = detail::find_row(command);
  if (row == nullptr) {
    is_by_marks_ = true;
    return;
  }
  if (find(*row)) return;
  is_malformed_ = true;
  run_count_ = 0;
}

void key_cursor::add(run keys) noexcept {
  BECK_ASSERT(run_count_ < runs_max, "a command has more places of keys than the table allows");
  runs_[run_count_++] = keys;
}

/// Finds the runs of keys by a row. Returns whether the arguments fit.
bool key_cursor::find(const command_row& row) noexcept {
  const std::size_t count = command_.size();
  for (const key_place& place : row.places) {
    if (place.how == key_place::kind::none) break;
    if (place.how == key_place::kind::sort) return find_sorted();
    if (place.how == key_place::kind::migrate) return find_migrated();
    std::size_t first = static_cast<std::size_t>(place.start);
    if (place.keyword != nullptr) first = behind_keyword(command_, place);
    if (first == 0) continue;  // an optional keyword that is not there
    const auto step = static_cast<std::size_t>(place.step);
    if (place.how == key_place::kind::counted) {
      const std::size_t number_at = first + static_cast<std::size_t>(place.number);
      if (number_at >= count) return false;
      const long long number = number_of(command_[number_at]);
      first += static_cast<std::size_t>(place.first);
      if (number < 0 || static_cast<unsigned long long>(number) > count) return false;
      const auto keys = static_cast<std::size_t>(number);
      if (keys == 0 && !place.may_be_none) return false;
      if (keys == 0) continue;
      if (first + (keys - 1) * step >= count) return false;
      add({first, first + (keys - 1) * step, step});
      continue;
    }
    std::size_t last = first + static_cast<std::size_t>(place.last);
    if (place.last < 0) {
      last = count - static_cast<std::size_t>(-place.last);
      if (place.limit > 1) {
        if (first >= count) return false;
        last = first + (count - first) / static_cast<std::size_t>(place.limit) -
               static_cast<std::size_t>(-place.last);
      }
    }
    if (first >= count || last >= count || last < first) return false;
    add({first, last, step});
  }
  return true;
}

/// SORT key [BY p] [LIMIT a b] [GET p ...] [STORE to]: patterns may be called STORE.
bool key_cursor::find_sorted() noexcept {
  const std::size_t count = command_.size();
  if (count < 2) return false;
  std::size_t to = 0;
  for (std::size_t i = 2; i < count; ++i) {
    const std::string_view option = command_[i];
    if (is_same(option, "limit")) {
      i += 2;
    } else if (is_same(option, "get") || is_same(option, "by")) {
      ++i;
    } else if (is_same(option, "store") && i + 1 < count) {
      to = ++i;
    }
  }
  add(1);
  if (to != 0) add(to);
  return true;
}

/// MIGRATE host port key|"" db timeout [COPY] [REPLACE] [AUTH p] [AUTH2 u p] [KEYS key ...].
bool key_cursor::find_migrated() noexcept {
  const std::size_t count = command_.size();
  if (count < 4) return false;
  for (std::size_t i = 6; i < count; ++i) {
    const std::string_view option = command_[i];
    if (is_same(option, "auth")) {
      ++i;
    } else if (is_same(option, "auth2")) {
      i += 2;
    } else if (is_same(option, "keys")) {
      if (!command_[3].empty() || i + 1 >= count) return false;
      add({i + 1, count - 1, 1});
      return true;
    }
  }
  add(3);
  return true;
}

bool key_cursor::next() noexcept {
  if (is_by_marks_) {
    if (run_ == command_.mark_count()) return false;
    at_ = command_.marked(run_++);
    return true;
  }
  if (run_ < run_count_ && at_ != 0) {
    if (runs_[run_].last - at_ >= runs_[run_].step) {
      at_ += runs_[run_].step;
      return true;
    }
    ++run_;
  }
  if (run_ >= run_count_) return false;
  at_ = runs_[run_].first;
  return true;
}

}  // namespace beck::redis
