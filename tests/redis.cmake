# SPDX-License-Identifier: BSL-1.0
# The tests of beck::redis.
beck_optimise_tests(redis/cache_world_test.cpp redis/client_world_test.cpp redis/cluster_world_test.cpp
  redis/lane_world_test.cpp redis/memory_world_test.cpp redis/sentinel_world_test.cpp redis/session_orders_test.cpp
  redis/subscription_world_test.cpp)
beck_test(redis_tests ONE_THREAD
  redis/cache_test.cpp
  redis/cache_stream_test.cpp
  redis/cache_end_test.cpp
  redis/cache_index_test.cpp
  redis/cache_oracle_test.cpp
  redis/cache_share_test.cpp
  redis/cache_world_test.cpp
  redis/client_change_test.cpp
  redis/client_connector_test.cpp
  redis/client_edges_test.cpp
  redis/client_loss_test.cpp
  redis/client_name_test.cpp
  redis/client_test.cpp
  redis/client_transaction_test.cpp
  redis/client_url_test.cpp
  redis/client_world_test.cpp
  redis/cluster_edges_test.cpp
  redis/cluster_loss_test.cpp
  redis/cluster_map_test.cpp
  redis/cluster_parts_test.cpp
  redis/cluster_test.cpp
  redis/cluster_transaction_test.cpp
  redis/cluster_world_test.cpp
  redis/command_table_test.cpp
  redis/key_slot_test.cpp
  redis/lane_blocking_test.cpp
  redis/lane_pool_test.cpp
  redis/lane_server_test.cpp
  redis/lane_test.cpp
  redis/lane_world_test.cpp
  redis/memory_differential_test.cpp
  redis/memory_faults_test.cpp
  redis/memory_server_test.cpp
  redis/memory_world_test.cpp
  redis/primary_watch_test.cpp
  redis/raw_reply_test.cpp
  redis/reader_test.cpp
  redis/request_test.cpp
  redis/resp3_limits_test.cpp
  redis/resp3_test.cpp
  redis/sentinel_loss_test.cpp
  redis/sentinel_test.cpp
  redis/sentinel_world_test.cpp
  redis/server_test.cpp
  redis/session_bytes_test.cpp
  redis/session_lane_test.cpp
  redis/session_limits_test.cpp
  redis/session_loss_test.cpp
  redis/session_guard_test.cpp
  redis/session_orders_test.cpp
  redis/session_parts_test.cpp
  redis/session_push_test.cpp
  redis/session_test.cpp
  redis/session_whole_test.cpp
  redis/slot_map_test.cpp
  redis/subscription_end_test.cpp
  redis/subscription_loss_test.cpp
  redis/subscription_test.cpp
  redis/subscription_world_test.cpp
  redis/value_test.cpp
  redis/vectors_test.cpp
  support/allocations.cpp
)
if(TARGET redis_tests)
  target_link_libraries(redis_tests PRIVATE beck::redis_testing)
  target_compile_definitions(redis_tests PRIVATE
    BECK_REDIS_VECTORS="${CMAKE_CURRENT_SOURCE_DIR}/redis/vectors")
endif()

# Those whose redis-servers stop, move slots and come back: they wait more than they compute.
beck_test(redis_server_tests ONE_THREAD
  redis/cache_real_test.cpp
  redis/cluster_real_test.cpp
  redis/sentinel_real_test.cpp
  redis/subscription_real_test.cpp
)
if(TARGET redis_server_tests)
  target_link_libraries(redis_server_tests PRIVATE beck::redis_testing)
endif()

# For ./run redis-chaos and ./test --all; sanitized only by hand: cmake --build --preset asan --target redis_chaos.
add_executable(redis_chaos EXCLUDE_FROM_ALL
  redis/chaos/cluster_scene.cpp
  redis/chaos/main.cpp
  redis/chaos/sentinel_scene.cpp
  redis/chaos/single_scene.cpp
)
target_include_directories(redis_chaos PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(redis_chaos PRIVATE beck::redis)
set_target_properties(redis_chaos PROPERTIES CXX_EXTENSIONS OFF)
beck_warnings(redis_chaos)
