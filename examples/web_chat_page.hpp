// SPDX-License-Identifier: BSL-1.0
//
// The page of web_chat. A line is written as text, never as HTML; what people say stays text.
#pragma once

#include <string_view>

namespace example {

inline constexpr std::string_view web_chat_page = R"page(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Rooms</title>
<style>
  body { font: 16px/1.4 sans-serif; margin: 2rem auto; max-width: 40rem; padding: 0 1rem; }
  form { display: flex; gap: .5rem; margin: .5rem 0; }
  input { flex: 1; font: inherit; padding: .3rem .5rem; min-width: 0; }
  button { font: inherit; padding: .3rem 1rem; }
  #lines { border: 1px solid #bbb; height: 16rem; overflow: auto; padding: .5rem; }
  #lines p { margin: 0; overflow-wrap: anywhere; }
  #news { color: #666; min-height: 1.4em; }
</style>
<h1>Rooms</h1>
<form id="join">
  <input id="name" placeholder="name" maxlength="20" required>
  <input id="room" placeholder="room" maxlength="20" required value="lobby">
  <button>Join</button>
</form>
<div id="lines"></div>
<form id="say">
  <input id="text" placeholder="say something" maxlength="1000" disabled>
  <button>Say</button>
</form>
<p id="news"></p>
<script>
  const part = id => document.getElementById(id);
  let socket;
  function add(text) {
    const line = document.createElement('p');
    line.textContent = text;
    part('lines').append(line);
    line.scrollIntoView();
  }
  part('join').onsubmit = event => {
    event.preventDefault();
    if (socket) socket.close();
    const name = encodeURIComponent(part('name').value);
    const room = encodeURIComponent(part('room').value);
    const mine = socket =
        new WebSocket(location.origin.replace('http', 'ws') + `/rooms/${room}?name=${name}`);
    mine.onopen = () => { part('text').disabled = false; part('text').focus(); };
    mine.onmessage = message => add(message.data);
    mine.onclose = end => {
      add(`- the end: ${end.code} ${end.reason}`);
      if (mine === socket) part('text').disabled = true;
    };
  };
  part('say').onsubmit = event => {
    event.preventDefault();
    if (socket && socket.readyState === WebSocket.OPEN) socket.send(part('text').value);
    part('text').value = '';
  };
  new EventSource('/events').onmessage = event => { part('news').textContent = event.data; };
</script>
</html>
)page";

}  // namespace example
