// SPDX-License-Identifier: BSL-1.0
// A program's own functions, which take anything and have the names of this library's, are the only
// ones for its calls without a namespace, whatever types of the library are among the arguments.
// tools/adl_calls.py compares the names here with those of the headers.
#include <doctest/doctest.h>

#include <beck/beck.hpp>
#include <beck/http/access_log.hpp>
#include <beck/http/client.hpp>
#include <beck/http/conditions.hpp>
#include <beck/http/content_coding.hpp>
#include <beck/http/cookie.hpp>
#include <beck/http/credentials.hpp>
#include <beck/http/date.hpp>
#include <beck/http/entity_tag.hpp>
#include <beck/http/error_page.hpp>
#include <beck/http/form.hpp>
#include <beck/http/media_type.hpp>
#include <beck/http/metrics.hpp>
#include <beck/http/middleware.hpp>
#include <beck/http/range.hpp>
#include <beck/http/refusal.hpp>
#include <beck/http/server.hpp>
#include <beck/http/static_files.hpp>
#include <beck/http/target.hpp>
#include <beck/http/url.hpp>
#include <beck/interop/execution.hpp>
#include <beck/interop/stop_token.hpp>
#include <beck/io/buffer_lease.hpp>
#include <beck/io/context_services.hpp>
#include <beck/io/pipe.hpp>
#include <beck/io/service_manager.hpp>
#include <beck/io/uring_submit.hpp>
#include <beck/net/connect_stream.hpp>
#include <beck/net/descriptor_passing.hpp>
#include <beck/net/local.hpp>
#include <beck/net/resolver.hpp>
#include <beck/redis/client.hpp>
#include <beck/redis/cluster.hpp>
#include <beck/redis/command_table.hpp>
#include <beck/redis/exec.hpp>
#include <beck/redis/key_slot.hpp>
#include <beck/redis/value.hpp>
#include <beck/testing/check.hpp>
#include <beck/testing/shrink.hpp>
#include <beck/tls/sealer.hpp>
#include <beck/transfer/copy.hpp>
#include <beck/transfer/relay.hpp>
#include <beck/transfer/splice.hpp>
#include <beck/transfer/transmit.hpp>
#include <beck/websocket/accept.hpp>
#include <beck/websocket/codec.hpp>
#include <beck/websocket/connect.hpp>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace program {

/// The result of every function of the program.
struct own {
  int value = 1;
};

#define BECK_TEST_NAME(name)   \
  template <class... A>        \
  constexpr own name(A&&...) { \
    return {};                 \
  }
BECK_TEST_NAME(notify_service_manager);
BECK_TEST_NAME(problem_page);
BECK_TEST_NAME(random_token);
BECK_TEST_NAME(read_text);
BECK_TEST_NAME(bearer_token);
BECK_TEST_NAME(cookie_of);
BECK_TEST_NAME(from_base64);
BECK_TEST_NAME(to_base64);
BECK_TEST_NAME(accept);
BECK_TEST_NAME(append);
BECK_TEST_NAME(apply_mask);
BECK_TEST_NAME(as_result_sender);
BECK_TEST_NAME(as_sender);
BECK_TEST_NAME(async_accept);
BECK_TEST_NAME(async_copy);
BECK_TEST_NAME(async_read_some);
BECK_TEST_NAME(async_receive);
BECK_TEST_NAME(async_receive_descriptors);
BECK_TEST_NAME(async_remove_file);
BECK_TEST_NAME(async_rename_file);
BECK_TEST_NAME(from_sender);
BECK_TEST_NAME(relay);
BECK_TEST_NAME(async_send_descriptors);
BECK_TEST_NAME(async_splice);
BECK_TEST_NAME(async_splice_some);
BECK_TEST_NAME(async_submit);
BECK_TEST_NAME(async_transmit);
BECK_TEST_NAME(async_write_some);
BECK_TEST_NAME(check);
BECK_TEST_NAME(cmd);
BECK_TEST_NAME(code_for);
BECK_TEST_NAME(collect_windowed);
BECK_TEST_NAME(consign);
BECK_TEST_NAME(connect);
BECK_TEST_NAME(connect_stream);
BECK_TEST_NAME(decode_parameter);
BECK_TEST_NAME(decode_path);
BECK_TEST_NAME(each);
BECK_TEST_NAME(error_of);
BECK_TEST_NAME(evaluate_conditions);
BECK_TEST_NAME(facts_of);
BECK_TEST_NAME(fail);
BECK_TEST_NAME(first_success);
BECK_TEST_NAME(for_each_limited);
BECK_TEST_NAME(ignore);
BECK_TEST_NAME(is_aggregate);
BECK_TEST_NAME(is_bodiless);
BECK_TEST_NAME(is_equal);
BECK_TEST_NAME(is_error);
BECK_TEST_NAME(is_idempotent);
BECK_TEST_NAME(is_same_origin);
BECK_TEST_NAME(key);
BECK_TEST_NAME(key_slot);
BECK_TEST_NAME(log_line);
BECK_TEST_NAME(make_port);
BECK_TEST_NAME(match_tags);
BECK_TEST_NAME(may_be_sent);
BECK_TEST_NAME(media_type_of);
BECK_TEST_NAME(append_log_line);
BECK_TEST_NAME(metrics_text);
BECK_TEST_NAME(name_of);
BECK_TEST_NAME(now);
BECK_TEST_NAME(number_of);
BECK_TEST_NAME(parse_date);
BECK_TEST_NAME(parse_entity_tag);
BECK_TEST_NAME(parse_range);
BECK_TEST_NAME(parse_url);
BECK_TEST_NAME(prepend);
BECK_TEST_NAME(race);
BECK_TEST_NAME(random_bytes);
BECK_TEST_NAME(reason_of);
BECK_TEST_NAME(remove_file);
BECK_TEST_NAME(repeat_until);
BECK_TEST_NAME(require);
BECK_TEST_NAME(resolve_reference);
BECK_TEST_NAME(run);
BECK_TEST_NAME(scheduler_of);
BECK_TEST_NAME(shield);
BECK_TEST_NAME(shrink);
BECK_TEST_NAME(shrink_erased);
BECK_TEST_NAME(sim_hash);
BECK_TEST_NAME(spawn);
BECK_TEST_NAME(split_target);
BECK_TEST_NAME(status_of);
BECK_TEST_NAME(sync_wait);
BECK_TEST_NAME(text_of);
BECK_TEST_NAME(throw_name_error);
BECK_TEST_NAME(timeout);
BECK_TEST_NAME(to_field);
BECK_TEST_NAME(to_method);
BECK_TEST_NAME(when_all);
BECK_TEST_NAME(when_any);
BECK_TEST_NAME(with);
BECK_TEST_NAME(with_deadline);
BECK_TEST_NAME(with_stop);
BECK_TEST_NAME(write_frame_head);
#undef BECK_TEST_NAME
template <class Text, class A>
constexpr own to_text(A&&) {
  return {};
}

/// An object that is mentioned and never made.
template <class T>
T& some();
/// A value that is mentioned and never made.
template <class T>
T made();

using beck::duration;
using beck::io_context;
using beck::mutable_buffer;
using beck::steady_timer;
using tcp_socket = beck::ip::tcp::socket;
using local_socket = beck::local::stream_protocol::socket;
using task = beck::task<int>;
using tasks = std::vector<task>;
using text = std::string_view;
using sim_tape = beck::testing::sim::tape;
using beck::testing::sim::check_options;
using beck::testing::sim::program_ref;
using timer_wait = decltype(some<steady_timer>().async_wait());
using timer_sender = decltype(beck::execution::as_sender(made<timer_wait>()));

// The library's function takes these arguments, and is not found with them.
#define BECK_TEST_CALL(space, name, ...)                                   \
  static_assert(!std::is_same_v<decltype(space::name(__VA_ARGS__)), own>); \
  static_assert(std::is_same_v<decltype(name(__VA_ARGS__)), own>)
BECK_TEST_CALL(beck, append, some<beck::deferred_t>(), 1);
BECK_TEST_CALL(beck, async_accept, some<beck::ip::tcp::acceptor>(), some<tcp_socket>());
BECK_TEST_CALL(beck, async_copy, some<beck::file_object>(), some<beck::file_object>());
BECK_TEST_CALL(beck, async_read_some, some<tcp_socket>(), some<mutable_buffer>());
BECK_TEST_CALL(beck, async_receive, some<tcp_socket>());
BECK_TEST_CALL(beck, async_receive_descriptors, some<local_socket>(), some<mutable_buffer>(),
               some<beck::received_descriptors>());
BECK_TEST_CALL(beck, async_remove_file, made<beck::any_io_executor>(), made<std::string_view>());
BECK_TEST_CALL(beck, async_rename_file, made<beck::any_io_executor>(), made<std::string_view>(),
               made<std::string_view>());
BECK_TEST_CALL(beck, relay, some<tcp_socket>(), some<tcp_socket>());
BECK_TEST_CALL(beck, async_send_descriptors, some<local_socket>(), some<mutable_buffer>(),
               made<beck::passed_descriptors>());
BECK_TEST_CALL(beck, async_splice, some<tcp_socket>(), some<beck::readable_pipe>(), 1);
BECK_TEST_CALL(beck, async_splice_some, some<tcp_socket>(), some<beck::readable_pipe>(), 1);
BECK_TEST_CALL(beck, async_transmit, some<tcp_socket>(), some<beck::file_object>(), 0, 1);
BECK_TEST_CALL(beck, async_write_some, some<tcp_socket>(), some<mutable_buffer>());
BECK_TEST_CALL(beck, collect_windowed, 1, made<tasks>());
BECK_TEST_CALL(beck, consign, some<beck::deferred_t>(), 1);
BECK_TEST_CALL(beck, first_success, made<task>());
BECK_TEST_CALL(beck, first_success, made<tasks>());
BECK_TEST_CALL(beck, for_each_limited, 1, made<std::vector<tcp_socket>>(),
               some<beck::task<> (*)(tcp_socket&)>());
BECK_TEST_CALL(beck, ignore, some<beck::io_result<>>());
BECK_TEST_CALL(beck, log_line, made<beck::any_io_executor>(), made<const char*>());
BECK_TEST_CALL(beck, notify_service_manager, made<std::string_view>());
BECK_TEST_CALL(beck, now, made<beck::any_io_executor>());
BECK_TEST_CALL(beck, prepend, some<beck::deferred_t>(), 1);
BECK_TEST_CALL(beck, race, made<task>(), made<task>());
BECK_TEST_CALL(beck, race, made<tasks>());
BECK_TEST_CALL(beck, random_bytes, made<beck::any_io_executor>(), some<mutable_buffer>());
BECK_TEST_CALL(beck, remove_file, made<beck::any_io_executor>(), made<std::string_view>(),
               some<beck::error_code>());
BECK_TEST_CALL(beck, shield, made<task>());
BECK_TEST_CALL(beck, shield, made<timer_wait>());
BECK_TEST_CALL(beck, spawn, made<task>());
BECK_TEST_CALL(beck, sync_wait, made<task>());
BECK_TEST_CALL(beck, sync_wait, some<io_context>(), made<task>());
BECK_TEST_CALL(beck, sync_wait, made<io_context::executor_type>(), made<task>());
BECK_TEST_CALL(beck, timeout, made<task>(), made<duration>());
BECK_TEST_CALL(beck, timeout, made<timer_wait>(), made<duration>());
BECK_TEST_CALL(beck, timeout, beck::shield(made<timer_wait>()), made<duration>());
BECK_TEST_CALL(beck, when_all, made<task>(), made<timer_wait>());
BECK_TEST_CALL(beck, when_all, made<tasks>());
BECK_TEST_CALL(beck, when_any, made<task>(), made<timer_wait>());
BECK_TEST_CALL(beck, when_any, made<tasks>());
BECK_TEST_CALL(beck, with_deadline, made<beck::time_point>(), made<timer_wait>());
BECK_TEST_CALL(beck, with_stop, made<beck::stop_token>(), made<timer_wait>());
BECK_TEST_CALL(beck, with_stop, made<std::stop_token>(), made<timer_wait>());
BECK_TEST_CALL(beck::execution, as_result_sender, made<timer_wait>());
BECK_TEST_CALL(beck::execution, as_sender, made<timer_wait>());
BECK_TEST_CALL(beck::execution, as_sender, made<timer_wait>(), some<io_context>());
BECK_TEST_CALL(beck::execution, from_sender, made<timer_sender>());
BECK_TEST_CALL(beck::execution, repeat_until, made<timer_sender>());
BECK_TEST_CALL(beck::execution, scheduler_of, some<io_context>());
BECK_TEST_CALL(beck::execution, sync_wait, some<io_context>(), made<timer_sender>());
BECK_TEST_CALL(beck::uring, async_submit, some<io_context>(), made<void (*)(io_uring_sqe&)>());
BECK_TEST_CALL(beck::ip, connect_stream, made<beck::any_io_executor>(), made<std::string_view>(),
               std::uint16_t());
BECK_TEST_CALL(beck::ip, make_port, 1L, some<beck::error_code>());
BECK_TEST_CALL(beck::ip, throw_name_error, made<const beck::error_code&>(),
               made<std::string_view>(), made<std::string_view>());
BECK_TEST_CALL(beck, from_base64, text(), some<std::string>(), beck::base64_form::url);
BECK_TEST_CALL(beck, to_base64, text(), beck::base64_form::url);
BECK_TEST_CALL(beck::http, bearer_token, some<const beck::http::request>());
BECK_TEST_CALL(beck::http, cookie_of, some<const beck::http::request>(), text());
BECK_TEST_CALL(beck::http, problem_page, some<beck::http::error_page>());
BECK_TEST_CALL(beck::http, read_text, some<beck::http::request>(), std::size_t());
BECK_TEST_CALL(beck::tls, random_token, std::size_t());
BECK_TEST_CALL(beck::http, decode_parameter, text(), made<mutable_buffer>(), some<text>());
BECK_TEST_CALL(beck::http, decode_path, text(), made<mutable_buffer>());
BECK_TEST_CALL(beck::http, evaluate_conditions, some<const beck::http::request_head>(),
               some<const beck::http::representation_state>(), std::int64_t());
BECK_TEST_CALL(beck::http, is_bodiless, beck::http::status::ok);
BECK_TEST_CALL(beck::http, is_equal, some<const beck::http::entity_tag>(),
               some<const beck::http::entity_tag>(), beck::http::tag_comparison::weak);
BECK_TEST_CALL(beck::http, is_idempotent, beck::http::method::get);
BECK_TEST_CALL(beck::http, is_same_origin, some<const beck::http::url>(),
               some<const beck::http::url>());
BECK_TEST_CALL(beck::http, match_tags, text(), some<const beck::http::entity_tag>(),
               beck::http::tag_comparison::weak);
BECK_TEST_CALL(beck::http, media_type_of, text());
BECK_TEST_CALL(beck::http, append_log_line, made<std::string&>(), beck::http::log_format::json,
               some<const beck::http::exchange_record>(), beck::system_time_point());
BECK_TEST_CALL(beck::http, metrics_text, some<const beck::http::server_stats>());
BECK_TEST_CALL(beck::http, name_of, beck::http::method::get);
BECK_TEST_CALL(beck::http, name_of, beck::http::field::host);
BECK_TEST_CALL(beck::http, name_of, beck::http::content_coding::gzip);
BECK_TEST_CALL(beck::http, name_of, beck::http::refusal::head_late);
BECK_TEST_CALL(beck::http, number_of, beck::http::status::ok);
BECK_TEST_CALL(beck::http, parse_date, text(), std::int64_t(), some<std::int64_t>());
BECK_TEST_CALL(beck::http, parse_entity_tag, text(), some<beck::http::entity_tag>());
BECK_TEST_CALL(beck::http, parse_range, text(), std::uint64_t());
BECK_TEST_CALL(beck::http, parse_url, text(), some<beck::http::url>());
BECK_TEST_CALL(beck::http, reason_of, beck::http::status::ok);
BECK_TEST_CALL(beck::http, resolve_reference, some<const beck::http::url>(), text(),
               made<mutable_buffer>(), some<text>());
BECK_TEST_CALL(beck::http, run, some<beck::http::server>(), some<const beck::http::run_options>());
BECK_TEST_CALL(beck::http, split_target, text());
BECK_TEST_CALL(beck::http, status_of, beck::http::refusal::head_late);
BECK_TEST_CALL(beck::http, text_of, beck::http::refusal::head_late);
BECK_TEST_CALL(beck::http, text_of, beck::http::path_error::none);
BECK_TEST_CALL(beck::http, text_of, beck::http::url_error::none);
BECK_TEST_CALL(beck::http, to_field, text());
BECK_TEST_CALL(beck::http, to_method, text());
BECK_TEST_CALL(beck::redis, cmd, made<beck::redis::into>(), text(), text());
BECK_TEST_CALL(beck::redis, each, some<std::vector<beck::redis::value>>());
BECK_TEST_CALL(beck::redis, error_of, text());
BECK_TEST_CALL(beck::redis, facts_of, some<const beck::redis::arguments>());
BECK_TEST_CALL(beck::redis, is_aggregate, beck::redis::data_type::null);
BECK_TEST_CALL(beck::redis, is_error, beck::redis::data_type::null);
BECK_TEST_CALL(beck::redis, key, some<beck::redis::value>());
BECK_TEST_CALL(beck::redis, key_slot, text());
BECK_TEST_CALL(beck::redis, to_text<std::string>, some<const beck::redis::value_item>());
BECK_TEST_CALL(beck::redis, name_of, beck::redis::data_type::null);
BECK_TEST_CALL(beck::redis, name_of, beck::redis::protocol_error::bad_length);
BECK_TEST_CALL(beck::redis, name_of, beck::redis::error::wrongtype);
BECK_TEST_CALL(beck::testing::sim, check, some<const check_options>(), made<program_ref>());
BECK_TEST_CALL(beck::testing::sim, fail, made<std::string_view>());
BECK_TEST_CALL(beck::testing::sim, require, true, made<std::string_view>());
BECK_TEST_CALL(beck::testing::sim, shrink, some<const sim_tape>(),
               some<bool (*)(const sim_tape&)>());
BECK_TEST_CALL(beck::testing::sim, shrink_erased, some<const sim_tape>(),
               made<bool (*)(const sim_tape&, void*)>(), made<void*>(),
               some<const beck::testing::sim::shrink_options>());
BECK_TEST_CALL(beck::testing::sim, sim_hash, some<io_context>());
BECK_TEST_CALL(
    beck::http, with,
    made<beck::http::pending (*)(beck::http::request&, beck::http::response&, beck::http::next)>(),
    made<void (*)(beck::http::request&, beck::http::response&)>());
BECK_TEST_CALL(beck::websocket, accept, some<beck::http::request>(), some<beck::http::response>(),
               made<beck::websocket::accept_options>());
BECK_TEST_CALL(beck::websocket, apply_mask, made<char*>(), std::size_t(),
               made<beck::websocket::mask_key>());
BECK_TEST_CALL(beck::websocket, code_for, beck::websocket::stream_error::pong_late);
BECK_TEST_CALL(beck::websocket, connect, some<beck::http::client>(), text(),
               made<beck::websocket::connect_options>());
BECK_TEST_CALL(beck::websocket, may_be_sent, beck::websocket::close_code::normal);
BECK_TEST_CALL(beck::websocket, name_of, beck::websocket::stream_error::pong_late);
BECK_TEST_CALL(beck::websocket, write_frame_head, made<char*>(), beck::websocket::opcode::text,
               true, std::uint64_t(), made<const beck::websocket::mask_key*>());
#undef BECK_TEST_CALL

}  // namespace program

TEST_CASE("a program's own functions with names of this library's are called without a namespace") {
  using namespace program;
  io_context ctx;
  auto three = []() -> beck::task<int> { co_return 3; };
  CHECK(sync_wait(ctx.get_executor(), three()).value == 1);
  CHECK(spawn(three()).value == 1);
  CHECK(when_all(three(), three()).value == 1);
  CHECK(ignore(beck::io_result<>()).value == 1);
  CHECK(beck::sync_wait(three()) == 3);
}
