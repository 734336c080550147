-- A script for wrk: `wrk -s load.lua URL -- FILE MODE`. Each line of FILE is a request: method, path, body and headers, with
-- tabs between them. MODE says what to do with them:
--   turns    sends them in turn
--   once     sends each once, and then nothing more
--   refresh  the first line is a request with {token} in its body, the others are tokens: each token is exchanged, and its
--            successor goes to the end of the queue
-- Prints its result as a line of JSON.

local ffi = require('ffi')
ffi.cdef('typedef struct { long seconds, nanoseconds; } moment; int clock_gettime(int clock, moment *at); int getpid(); int kill(int process, int signal);')
local interrupt = 2
local moment = ffi.new('moment')

local function now()
  ffi.C.clock_gettime(1, moment)
  return tonumber(moment.seconds) + tonumber(moment.nanoseconds) / 1e9
end

local threads = {}
local lines, first, last = {}, 1, 0
local template
-- Read by `done`, which runs in a state of its own.
startedAt, endedAt, answered = 0, 0, 0

function setup(thread)
  table.insert(threads, thread)
end

local function parse(line)
  local parts = {}
  for part in (line .. '\t'):gmatch('(.-)\t') do table.insert(parts, part) end
  local headers = {}
  for index = 4, #parts do
    local name, value = parts[index]:match('^(.-): (.*)$')
    headers[name] = value
  end
  return { method = parts[1], path = parts[2], body = parts[3] ~= '' and parts[3] or nil, headers = headers }
end

local function format(request)
  return wrk.format(request.method, request.path, request.headers, request.body)
end

local function refresh()
  local token = lines[first]
  if not token then error('more concurrent requests than tokens') end
  lines[first] = nil
  first = first + 1
  return wrk.format(template.method, template.path, template.headers, (template.body:gsub('{token}', token)))
end

local function keepSuccessor(_, _, body)
  local token = body:match('"refresh_token":"([%w_-]+)"')
  if token then
    last = last + 1
    lines[last] = token
  end
end

local function inTurn()
  local text = lines[first]
  first = first % last + 1
  return text
end

-- wrk asks for the first request once before it starts. A connection that sends nothing more stays idle.
local hasStarted = false
local function nextOnce()
  if not hasStarted then
    hasStarted = true
    return lines[first]
  end
  if startedAt == 0 then startedAt = now() end
  local text = lines[first]
  first = first + 1
  return text or ''
end

local function countOnce()
  answered = answered + 1
  if answered == last then
    endedAt = now()
    -- Otherwise wrk would wait for the end of its time.
    ffi.C.kill(ffi.C.getpid(), interrupt)
  end
end

function init(args)
  local mode = args[2]
  for line in io.lines(args[1]) do
    if mode == 'refresh' and not template then
      template = parse(line)
    else
      last = last + 1
      lines[last] = mode == 'refresh' and line or format(parse(line))
    end
  end
  if mode == 'refresh' then
    request, response = refresh, keepSuccessor
  elseif mode == 'once' then
    request, response = nextOnce, countOnce
  else
    request = inTurn
  end
end

function done(summary, latency)
  local errors = summary.errors
  local endedAt = threads[1]:get('endedAt')
  local seconds = endedAt > 0 and endedAt - threads[1]:get('startedAt') or summary.duration / 1e6
  io.write(string.format(
    '{"requests":%d,"seconds":%.6f,"bytes":%d,"refused":%d,"failed":%d,"p50Ms":%.3f,"p99Ms":%.3f,"p999Ms":%.3f}\n',
    summary.requests, seconds, summary.bytes, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency:percentile(99.9) / 1000))
end
