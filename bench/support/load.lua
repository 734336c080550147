-- A script for wrk: `wrk -s load.lua URL -- FILE [refresh]`. FILE has one token per line; requests use them in turn. With
-- `refresh` each token is exchanged, and its successor goes to the end of the queue. Prints its result as a line of JSON.

local requests, tokens, first, last = {}, {}, 1, 0
local refreshes = false

local function refresh()
  local token = tokens[first]
  if not token then error('more concurrent requests than tokens') end
  tokens[first] = nil
  first = first + 1
  return wrk.format('POST', nil, nil, '{"refresh_token":"' .. token .. '"}')
end

local function keepSuccessor(_, _, body)
  local token = body:match('"refresh_token":"([%w_-]+)"')
  if token then
    last = last + 1
    tokens[last] = token
  end
end

local function present()
  local text = requests[first]
  first = first % last + 1
  return text
end

function init(args)
  refreshes = args[2] == 'refresh'
  if refreshes then wrk.headers['Content-Type'] = 'application/json' end
  for token in io.lines(args[1]) do
    last = last + 1
    if refreshes then
      tokens[last] = token
    else
      requests[last] = wrk.format('GET', nil, { Authorization = 'Bearer ' .. token })
    end
  end
  if refreshes then
    request, response = refresh, keepSuccessor
  else
    request = present
  end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%.6f,"bytes":%d,"refused":%d,"failed":%d,"p50Ms":%.3f,"p99Ms":%.3f}\n',
    summary.requests, summary.duration / 1e6, summary.bytes, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
