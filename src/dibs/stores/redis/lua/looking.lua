
local function life() -- of the server, as far as we may know, and of what it keeps: another one if either began anew
  local info = redis.pcall('INFO', 'server')
  local run = type(info) == 'string' and string.match(info, 'run_id:(%x+)') or ''
  return run .. '/' .. (redis.call('HGET', jobs, '') or '')
end

local MOST_AT_ONCE = 1000 -- Lua's stack has an end

local function sheets_of(names) -- false where there is none
  local found = {}
  for first = 1, #names, MOST_AT_ONCE do
    local some = redis.call('HMGET', jobs, unpack(names, first, math.min(first + MOST_AT_ONCE - 1, #names)))
    for place = 1, #some do
      found[first + place - 1] = some[place]
    end
  end
  return found
end
