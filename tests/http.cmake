# SPDX-License-Identifier: BSL-1.0
# The tests of beck::http.
beck_test(http_tests SOURCES
  http/accept_end_test.cpp
  http/begin_test.cpp
  http/listen_test.cpp
  http/listing_test.cpp
  http/memory_test.cpp
  http/per_context_test.cpp
  http/run_test.cpp
  http/service_manager_test.cpp
  http/static_files_test.cpp
  support/allocations.cpp
  ONE_THREAD
  http/before_head_test.cpp
  http/body_decoder_test.cpp
  http/client_body_test.cpp
  http/client_cost_test.cpp
  http/client_gone_test.cpp
  http/client_layer_test.cpp
  http/client_limits_test.cpp
  http/client_misuse_test.cpp
  http/client_page_test.cpp
  http/client_pool_test.cpp
  http/client_retry_test.cpp
  http/client_test.cpp
  http/client_upload_test.cpp
  http/client_world_test.cpp
  http/conditions_test.cpp
  http/content_coding_test.cpp
  http/cost_test.cpp
  http/date_test.cpp
  http/entity_tag_test.cpp
  http/error_page_test.cpp
  http/early_response_test.cpp
  http/eviction_test.cpp
  http/file_response_test.cpp
  http/generated_file_test.cpp
  http/handler_test.cpp
  http/handler_time_test.cpp
  http/head_writer_test.cpp
  http/layer_test.cpp
  http/location_test.cpp
  http/media_type_test.cpp
  http/metrics_test.cpp
  http/middleware_test.cpp
  http/open_files_test.cpp
  http/parser_test.cpp
  http/peer_addresses_test.cpp
  http/proxy_test.cpp
  http/range_test.cpp
  http/record_test.cpp
  http/route_table_test.cpp
  http/router_test.cpp
  http/server_end_test.cpp
  http/server_test.cpp
  http/server_world_test.cpp
  http/target_test.cpp
  http/tunnel_test.cpp
  http/url_test.cpp
  http/vectors_test.cpp
)
target_link_libraries(http_tests PRIVATE beck::http)
target_include_directories(http_tests PRIVATE ${PROJECT_SOURCE_DIR})  # examples/http_proxy.hpp
target_compile_definitions(http_tests PRIVATE
  BECK_HTTP_PAGE="${PROJECT_SOURCE_DIR}/docs/http.md"
  BECK_HTTP_CLIENT_PAGE="${PROJECT_SOURCE_DIR}/docs/http-client.md"
  BECK_HTTP_VECTORS="${CMAKE_CURRENT_SOURCE_DIR}/http/vectors")
