-- SPDX-License-Identifier: BSL-1.0
-- A script of wrk: sends as many requests at once as its argument says, and prints the run as a line of JSON.
local depth = 1

function init(arguments)
  depth = tonumber(arguments[1] or "1")
  if depth > 1 then
    local parts = {}
    for i = 1, depth do parts[i] = wrk.format() end
    local together = table.concat(parts)
    request = function() return together end
  end
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '{"requests": %d, "bytes": %d, "duration_us": %d, "errors": %d, "p50_us": %d, "p90_us": %d, "p99_us": %d, ' ..
    '"p999_us": %d, "max_us": %d}\n',
    summary.requests, summary.bytes, summary.duration,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50), latency:percentile(90), latency:percentile(99), latency:percentile(99.9), latency.max))
end
