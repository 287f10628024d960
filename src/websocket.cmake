# SPDX-License-Identifier: BSL-1.0
# beck::websocket, over HTTP.
beck_library(beck_websocket
  SOURCES
    websocket/accept_connect.cpp
    websocket/digest.cpp
    websocket/error.cpp
    websocket/frame_decoder.cpp
    websocket/frame_input.cpp
    websocket/frame_output.cpp
    websocket/frame_writer.cpp
    websocket/handshake.cpp
    websocket/mask.cpp
    websocket/message.cpp
    websocket/session.cpp
    websocket/session_clock.cpp
    websocket/stream.cpp
    websocket/utf8.cpp
  HEADERS
    websocket/accept.hpp
    websocket/codec.hpp
    websocket/connect.hpp
    websocket/error.hpp
    websocket/limits.hpp
    websocket/message.hpp
    websocket/stream.hpp
  PUBLIC beck_http
)
