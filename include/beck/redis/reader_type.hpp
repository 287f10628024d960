// SPDX-License-Identifier: BSL-1.0
//
// The types that replies are read into, recognised by their shape, so that this header includes no
// container. Each becomes a table of facts and small functions, for a reply_reader.
#pragma once

#include <beck/base/dynamic_buffer.hpp>
#include <beck/redis/raw_reply.hpp>
#include <beck/redis/reply.hpp>
#include <beck/redis/value.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace beck::redis {

namespace detail {

/// How a type is read.
enum class shape : std::uint8_t {
  nothing,   ///< everything is accepted and dropped
  integer,   ///< from an integer or a text of digits
  real,      ///< from a double, an integer or a text
  boolean,   ///< from a boolean, or 1 and 0
  text,      ///< from a text, or the digits of a number
  room,      ///< into: as a text, into memory of the program's
  tree,      ///< value: anything
  raw,       ///< raw_reply: anything, as a whole reply
  optional,  ///< a null, or its value
  variant,   ///< the alternative that fits best
  sequence,  ///< elements, added at the back or inserted
  map,       ///< keys and values
  tuple,     ///< a fixed number of elements, each of its own type
  fields,    ///< a user type: keys and values, by name
  reply,     ///< an error, or its value
};

/// A type as the reader sees it. Functions that its shape does not need are null.
struct reader_type {
  shape kind = shape::nothing;
  std::uint8_t bytes = 0;   // of an integer or real
  bool is_signed = false;   // of an integer
  std::size_t members = 0;  // of a tuple; alternatives of a variant
  const reader_type* inner =
      nullptr;                       // of optional, reply; elements of a sequence; values of a map
  const reader_type* key = nullptr;  // of a map
  const reader_type* const* member_types = nullptr;

  /// Restores the object to its state before reading; removes the elements of a sequence or map.
  void (*reset)(void* object) = nullptr;
  /// Adds bytes to a text. Null if it has only `assign`.
  void (*append)(void* text, const char* data, std::size_t size) = nullptr;
  /// Sets a text.
  void (*assign)(void* text, const char* data, std::size_t size) = nullptr;
  /// Engages an optional and returns its value; returns the value of a reply, nullptr if void.
  void* (*engage)(void* object) = nullptr;
  /// Returns a new element at the back of a sequence. Null: use make and insert.
  void* (*add)(void* sequence) = nullptr;
  /// Makes an element of a sequence, or a key of a map, to be inserted when it is whole.
  void* (*make)() = nullptr;
  /// Destroys an element or key that make has made.
  void (*destroy)(void* made) = nullptr;
  /// Inserts an element or key, which is as new afterwards. Returns the value of a key.
  void* (*insert)(void* object, void* made) = nullptr;
  /// Returns member `i` of a tuple; makes and returns alternative `i` of a variant.
  void* (*member)(void* object, std::size_t i) = nullptr;
  /// Finds a field by its name. Sets its type and its name as the program has it; nullptr: unknown.
  void* (*field)(void* object, std::string_view key, const reader_type** type,
                 const char** name) = nullptr;
  /// Returns the place of a reply's error.
  reply_status* (*status)(void* reply) = nullptr;
};

/// Passed to redis_fields to learn whether a type has it.
struct field_probe {
  template <class Field>
  void operator()(const char* name, Field& field);
};

template <class T>
concept fields_shape =
    std::is_class_v<T> && requires(field_probe& probe, T& object) { redis_fields(probe, object); };
template <class T>
concept assigned_text =
    requires(T& text, const char* data, std::size_t size) { text.assign(data, size); };
template <class T>
concept appended_text = assigned_text<T> && requires(T& text, const char* data, std::size_t size) {
  text.append(data, size);
  text.clear();
};
template <class T>
concept byte_container =
    beck::detail::growing_container<T> && !assigned_text<T> &&
    !std::same_as<std::remove_cvref_t<decltype(*std::declval<T&>().data())>, signed char>;
template <class T>
concept text_shape = assigned_text<T> || byte_container<T>;
template <class T>
concept optional_shape = requires(T& object) {
  object.reset();
  object.emplace();
  object.has_value();
  *object;
};
template <class T>
concept variant_shape = requires(T& object) {
  object.valueless_by_exception();
  object.index();
};
template <class T>
concept map_shape = requires(T& object) {
  typename T::key_type;
  typename T::mapped_type;
  object.clear();
  object.emplace(std::declval<typename T::key_type>(), std::declval<typename T::mapped_type>());
};
template <class T>
concept sequence_shape = !map_shape<T> && requires(T& object) {
  typename T::value_type;
  object.push_back(std::declval<typename T::value_type>());
  object.clear();
};
template <class T>
concept set_shape = !map_shape<T> && !sequence_shape<T> && requires(T& object) {
  typename T::key_type;
  object.insert(std::declval<typename T::key_type>());
  object.clear();
};
template <class T>
concept tuple_shape = std::is_class_v<T> && requires { std::tuple_size<T>::value; };
template <class T>
inline constexpr bool is_reply = false;
template <class T>
inline constexpr bool is_reply<reply<T>> = true;
/// A character that would be taken for a number.
template <class T>
concept character = std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
                    std::same_as<T, char16_t> || std::same_as<T, char32_t>;
template <class T>
concept number_shape =
    (std::integral<T> && !character<T>) || std::same_as<T, float> || std::same_as<T, double>;
/// A view: its bytes would be gone before the program sees it.
template <class T>
concept view_shape = !text_shape<T> && requires(const T& view) {
  view.data();
  view.size();
  requires requires(T& v) { v.remove_prefix(0); } || requires(T& v) { v.subspan(0); };
};

/// Whether a reply can be read into T.
template <class T>
concept readable = std::is_void_v<T> || number_shape<T> || text_shape<T> || std::same_as<T, into> ||
                   std::same_as<T, value> || std::same_as<T, raw_reply> || is_reply<T> ||
                   fields_shape<T> || optional_shape<T> || variant_shape<T> || map_shape<T> ||
                   sequence_shape<T> || set_shape<T> || tuple_shape<T>;

template <class T>
constexpr reader_type make_reader_type();

/// The table of T.
template <class T>
inline constexpr reader_type reader_type_of = detail::make_reader_type<T>();

/// Compares the name of each field with a key.
struct field_search {
  std::string_view key;
  void* found = nullptr;
  const reader_type* type = nullptr;
  const char* name = nullptr;

  template <class Field>
  void operator()(const char* field_name, Field& field) {
    if (found != nullptr || key != field_name) return;
    found = __builtin_addressof(field);
    type = &reader_type_of<Field>;
    name = field_name;
  }
};

template <class T>
constexpr reader_type make_fields_type() {
  reader_type type;
  type.kind = shape::fields;
  type.field = [](void* object, std::string_view key, const reader_type** field_type,
                  const char** name) -> void* {
    field_search search{key};
    redis_fields(search, *static_cast<T*>(object));
    *field_type = search.type;
    *name = search.name;
    return search.found;
  };
  return type;
}

template <class T>
constexpr reader_type make_text_type() {
  reader_type type;
  type.kind = shape::text;
  if constexpr (appended_text<T>) {
    type.append = [](void* text, const char* data, std::size_t size) {
      static_cast<T*>(text)->append(data, size);
    };
  } else if constexpr (byte_container<T>) {
    type.append = [](void* text, const char* data, std::size_t size) {
      T& bytes = *static_cast<T*>(text);
      const std::size_t before = bytes.size();
      bytes.resize(before + size);
      if (size != 0) std::memcpy(bytes.data() + before, data, size);
    };
  }
  type.assign = [](void* text, const char* data, std::size_t size) {
    T& object = *static_cast<T*>(text);
    if constexpr (assigned_text<T>) {
      object.assign(data, size);
    } else {
      object.resize(size);
      if (size != 0) std::memcpy(object.data(), data, size);
    }
  };
  return type;
}

namespace functions {

/// Adds functions that make an element or key apart and insert it.
template <class T, class Element>
constexpr void set_made_elements(reader_type& type) {
  type.make = []() -> void* { return new Element(); };
  type.destroy = [](void* made) { delete static_cast<Element*>(made); };
  type.insert = [](void* object, void* made) -> void* {
    T& container = *static_cast<T*>(object);
    Element& element = *static_cast<Element*>(made);
    void* place = nullptr;
    if constexpr (map_shape<T>) {
      auto inserted = container.emplace(std::move(element), typename T::mapped_type());
      if constexpr (requires { inserted.first->second; }) {
        place = __builtin_addressof(inserted.first->second);
      } else {
        place = __builtin_addressof(inserted->second);
      }
    } else if constexpr (sequence_shape<T>) {
      container.push_back(std::move(element));
    } else {
      container.insert(std::move(element));
    }
    element = Element();
    return place;
  };
}

}  // namespace functions
using namespace functions;

template <class T>
constexpr reader_type make_container_type() {
  reader_type type;
  if constexpr (map_shape<T>) {
    type.kind = shape::map;
    type.key = &reader_type_of<typename T::key_type>;
    type.inner = &reader_type_of<typename T::mapped_type>;
    detail::set_made_elements<T, typename T::key_type>(type);
  } else {
    type.kind = shape::sequence;
    type.inner = &reader_type_of<typename T::value_type>;
    if constexpr (sequence_shape<T> && requires(T& object) {
                    { object.back() } -> std::same_as<typename T::value_type&>;
                  }) {
      type.add = [](void* object) -> void* {
        T& container = *static_cast<T*>(object);
        if constexpr (requires { container.emplace_back(); }) {
          container.emplace_back();  // moving an empty variant makes g++ 12 warn
        } else {
          container.push_back(typename T::value_type());
        }
        return __builtin_addressof(container.back());
      };
    } else {
      detail::set_made_elements<T, typename T::value_type>(type);
    }
  }
  return type;
}

template <class T, class Indices>
struct tuple_members;
template <class T, std::size_t... I>
struct tuple_members<T, std::index_sequence<I...>> {
  static constexpr const reader_type* types[] = {
      &reader_type_of<std::remove_cvref_t<std::tuple_element_t<I, T>>>...};

  static void* member(void* object, std::size_t i) {
    using std::get;
    T& members = *static_cast<T*>(object);
    void* found = nullptr;
    static_cast<void>(((i == I && (found = __builtin_addressof(get<I>(members)), true)) || ...));
    return found;
  }
};

template <class T>
struct variant_members;
template <template <class...> class Variant, class... Alternatives>
struct variant_members<Variant<Alternatives...>> {
  using variant = Variant<Alternatives...>;
  static constexpr std::size_t count = sizeof...(Alternatives);
  static constexpr const reader_type* types[] = {&reader_type_of<Alternatives>...};

  static void* member(void* object, std::size_t i) {
    return emplace(*static_cast<variant*>(object), i, std::index_sequence_for<Alternatives...>());
  }

 private:
  template <std::size_t... I>
  static void* emplace(variant& object, std::size_t i, std::index_sequence<I...>) {
    void* made = nullptr;
    static_cast<void>(
        ((i == I && (made = __builtin_addressof(object.template emplace<I>()), true)) || ...));
    return made;
  }
};

template <class T>
constexpr reader_type make_wrapper_type() {
  reader_type type;
  if constexpr (is_reply<T>) {
    type.kind = shape::reply;
    type.inner = &reader_type_of<typename T::value_type>;
    type.engage = [](void* object) -> void* {
      if constexpr (std::is_void_v<typename T::value_type>) {
        return nullptr;
      } else {
        return __builtin_addressof(**static_cast<T*>(object));
      }
    };
    type.status = [](void* object) { return &static_cast<T*>(object)->status(); };
  } else {
    type.kind = shape::optional;
    type.inner = &reader_type_of<std::remove_cvref_t<decltype(*std::declval<T&>())>>;
    type.engage = [](void* object) -> void* {
      T& optional = *static_cast<T*>(object);
      optional.emplace();
      return __builtin_addressof(*optional);
    };
  }
  return type;
}

template <class T>
constexpr reader_type make_shape() {
  reader_type type;
  if constexpr (std::same_as<T, bool>) {
    type.kind = shape::boolean;
  } else if constexpr (number_shape<T>) {
    type.kind = std::integral<T> ? shape::integer : shape::real;
    type.bytes = sizeof(T);
    type.is_signed = std::is_signed_v<T>;
  } else if constexpr (std::same_as<T, into>) {
    type.kind = shape::room;
  } else if constexpr (std::same_as<T, value>) {
    type.kind = shape::tree;
  } else if constexpr (std::same_as<T, raw_reply>) {
    type.kind = shape::raw;
  } else if constexpr (is_reply<T> || (optional_shape<T> && !fields_shape<T>)) {
    type = detail::make_wrapper_type<T>();
  } else if constexpr (fields_shape<T>) {
    type = detail::make_fields_type<T>();
  } else if constexpr (text_shape<T>) {
    type = detail::make_text_type<T>();
  } else if constexpr (variant_shape<T>) {
    type.kind = shape::variant;
    type.members = variant_members<T>::count;
    type.member_types = variant_members<T>::types;
    type.member = &variant_members<T>::member;
  } else if constexpr (map_shape<T> || sequence_shape<T> || set_shape<T>) {
    type = detail::make_container_type<T>();
  } else {
    using members = tuple_members<T, std::make_index_sequence<std::tuple_size<T>::value>>;
    type.kind = shape::tuple;
    type.members = std::tuple_size<T>::value;
    type.member_types = members::types;
    type.member = &members::member;
  }
  return type;
}

template <class T>
constexpr reader_type make_reader_type() {
  static_assert(!view_shape<T>,
                "a view would refer to bytes that are gone: read a reply into std::string, "
                "redis::into(buffer) or redis::value");
  static_assert(
      view_shape<T> || readable<T>,
      "no reply can be read into this type: declare redis_fields(f, object) for it, or use a "
      "number, bool, text, optional, sequence, set, map, tuple, variant or redis::value");
  if constexpr (std::is_void_v<T>) {
    return {};
  } else if constexpr (readable<T> && !view_shape<T>) {
    reader_type type = detail::make_shape<T>();
    type.reset = [](void* object) {
      T& target = *static_cast<T*>(object);
      if constexpr (is_reply<T>) {
        target.status().clear();
        constexpr bool has_value = !std::is_void_v<typename T::value_type>;
        if constexpr (has_value)
          reader_type_of<typename T::value_type>.reset(__builtin_addressof(*target));
      } else if constexpr (!fields_shape<T> && requires { target.clear(); }) {
        target.clear();
      } else {
        target = T();
      }
    };
    return type;
  } else {
    return {};
  }
}

}  // namespace detail

}  // namespace beck::redis
