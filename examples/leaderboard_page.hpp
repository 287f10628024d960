// SPDX-License-Identifier: BSL-1.0
//
// The page of the leaderboard. It loads nothing else; names are written as text, never as HTML.
#pragma once

#include <string_view>

namespace example {

inline constexpr std::string_view leaderboard_page = R"page(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Leaderboard</title>
<style>
  body { font: 16px/1.4 sans-serif; margin: 2rem auto; max-width: 30rem; padding: 0 1rem; }
  form { display: flex; gap: .5rem; margin: 1rem 0; }
  input { flex: 1; font: inherit; padding: .3rem .5rem; min-width: 0; }
  button { font: inherit; padding: .3rem 1rem; }
  table { border-collapse: collapse; width: 100%; }
  td { border-top: 1px solid #ddd; padding: .3rem .5rem; }
  td:last-child { text-align: right; font-variant-numeric: tabular-nums; }
  #news { color: #666; min-height: 1.4em; }
</style>
<h1>Leaderboard</h1>
<table><tbody id="top"></tbody></table>
<form id="add">
  <input id="name" placeholder="player" pattern="[A-Za-z0-9_\-]{1,32}" required
         title="1 to 32 letters, digits, - and _">
  <input id="points" type="number" min="1" max="1000000" value="5" required>
  <button>Add</button>
</form>
<p id="news">connecting ...</p>
<script>
  const part = id => document.getElementById(id);
  const say = text => { part('news').textContent = text; };
  const events = new EventSource('/events');
  events.onopen = () => say('');
  events.onerror = () => say('the connection is lost; it is made again ...');
  events.addEventListener('top', event => {
    part('top').replaceChildren(...JSON.parse(event.data).map((player, i) => {
      const row = document.createElement('tr');
      for (const text of [i + 1, player.name, player.score])
        row.insertCell().textContent = text;
      return row;
    }));
  });
  events.addEventListener('change', event => {
    const change = JSON.parse(event.data);
    say(`${change.name} +${change.points}`);
  });
  part('add').onsubmit = async event => {
    event.preventDefault();
    const name = encodeURIComponent(part('name').value);
    try {
      const path = `/scores/${name}?points=${part('points').value}`;
      const reply = await fetch(path, { method: 'POST' });
      if (!reply.ok) say(await reply.text());
    } catch (error) {
      say(`${error.message}: the points may have been added`);
    }
  };
</script>
</html>
)page";

}  // namespace example
